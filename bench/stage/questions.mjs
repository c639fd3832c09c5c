// How the bench talks to the programs that it starts: a question by name, and its answer.

/** In the program: answers questions until the bench ends. */
export function answerQuestions(answers) {
  const answer = async ({ id, name, input }) => {
    try {
      process.send({ id, result: (await answers[name](input)) ?? null })
    } catch (error) {
      process.send({ id, error: error.stack ?? String(error) })
    }
  }
  process.on('message', (question) => void answer(question))
  process.on('disconnect', () => process.exit())
  // The bench decides when its programs end: Ctrl-C at a terminal reaches them as well.
  process.on('SIGINT', () => {})
}

/** In the bench: asks a program. Fails if the program ends first. */
export function makeAsk(child, name) {
  const waiting = new Map()
  let last = 0
  child.on('message', ({ id, result, error }) => {
    const { resolve, reject } = waiting.get(id)
    waiting.delete(id)
    if (error === undefined) resolve(result)
    else reject(new Error(`${name}: ${error}`))
  })
  child.once('exit', (code, signal) => {
    for (const { reject } of waiting.values()) reject(new Error(`${name} ended with ${code ?? signal}`))
  })
  return (question, input) =>
    new Promise((resolve, reject) => {
      const id = ++last
      waiting.set(id, { resolve, reject })
      child.send({ id, name: question, input })
    })
}
