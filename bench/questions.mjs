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

// Longer than any load runs, so a service that hangs does not hang the bench.
const ANSWER_WITHIN_MS = 10 * 60_000

/** In the bench: asks a program. Fails if the program ends first, or does not answer in time. */
export function makeAsk(child, name) {
  const waiting = new Map()
  let last = 0
  const settle = (id) => {
    const asked = waiting.get(id)
    waiting.delete(id)
    clearTimeout(asked.timer)
    return asked
  }
  child.on('message', ({ id, result, error }) => {
    if (!waiting.has(id)) return
    const { resolve, reject } = settle(id)
    if (error === undefined) resolve(result)
    else reject(new Error(`${name}: ${error}`))
  })
  child.once('exit', (code, signal) => {
    for (const id of waiting.keys()) settle(id).reject(new Error(`${name} ended with ${code ?? signal}`))
  })
  return (question, input) =>
    new Promise((resolve, reject) => {
      const id = ++last
      const giveUp = () => settle(id).reject(new Error(`${name} did not answer ${question}`))
      waiting.set(id, { resolve, reject, timer: setTimeout(giveUp, ANSWER_WITHIN_MS) })
      child.send({ id, name: question, input })
    })
}
