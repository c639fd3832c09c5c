import fc from 'fast-check'
import { expect, test } from 'vitest'
import { makeSingleFlight } from '../src/base/single-flight.ts'

// Calls that the test answers. Each answer is the number of the call that it belongs to.
function setUp() {
  const ask = makeSingleFlight<number>()
  const calls: { key: string; answer: () => void; fail: (error: Error) => void }[] = []
  const call = (key: string) =>
    new Promise<number>((resolve, reject) => {
      const number = calls.length
      calls.push({ key, answer: () => resolve(number), fail: reject })
    })
  return { calls, ask: (key = 'charge') => ask(key, () => call(key)) }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

test('a lone caller is answered by a call of its own', async () => {
  const { calls, ask } = setUp()
  const answer = ask()
  calls[0]!.answer()
  expect(await answer).toBe(0)
})

test('however many ask while a call is in flight, one call waits behind it and answers them all', async () => {
  const { calls, ask } = setUp()
  const first = ask()
  const others = Array.from({ length: 100 }, () => ask())
  await turn()
  expect(calls).toHaveLength(1)

  calls[0]!.answer()
  expect(await first).toBe(0)
  await turn()
  expect(calls).toHaveLength(2)
  calls[1]!.answer()
  expect(new Set(await Promise.all(others))).toEqual(new Set([1]))
})

test('a call that fails takes only those who asked for it along', async () => {
  const { calls, ask } = setUp()
  const first = ask()
  const second = ask()
  calls[0]!.fail(new Error('the provider is away'))
  await expect(first).rejects.toThrow('the provider is away')
  await turn()
  calls[1]!.answer()
  expect(await second).toBe(1)
})

test('a call that throws before it begins leaves the key free', async () => {
  const ask = makeSingleFlight<number>()
  const broken = async () =>
    ask('charge', () => {
      throw new Error('no budget')
    })
  await expect(broken()).rejects.toThrow('no budget')
  expect(await ask('charge', async () => 7)).toBe(7)
})

test('different keys do not wait for each other', () => {
  const { calls, ask } = setUp()
  void ask('one')
  void ask('two')
  expect(calls.map((call) => call.key)).toEqual(['one', 'two'])
})

// A query is linearizable only if this holds, under every order of asking and answering.
test('nobody is given an answer that was asked for before they came, and at most one call is in flight', async () => {
  const steps = fc.array(fc.constantFrom('ask', 'ask', 'answer', 'fail', 'turn'), { maxLength: 60 })
  await fc.assert(
    fc.asyncProperty(steps, async (series) => {
      const { calls, ask } = setUp()
      let ended = 0
      const asked: Promise<void>[] = []
      const askOnce = async () => {
        const begun = calls.length
        const answer = await ask().catch(() => Infinity)
        expect(answer).toBeGreaterThanOrEqual(begun)
      }
      for (const step of series) {
        if (step === 'ask') asked.push(askOnce())
        if (step === 'turn') await turn()
        if (step === 'answer' && ended < calls.length) calls[ended++]!.answer()
        if (step === 'fail' && ended < calls.length) calls[ended++]!.fail(new Error('down'))
        expect(calls.length - ended).toBeLessThanOrEqual(1)
      }
      for (await turn(); ended < calls.length; await turn()) calls[ended++]!.answer()
      await Promise.all(asked)
    }),
  )
})
