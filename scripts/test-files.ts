/** The tests of `npm test`, or those of `npm run test:long`: what takes minutes by nature. */
export function chosenTests(): string[] {
  return process.env['GUICHE_TEST_LONG'] ? ['test/long/*.test.ts'] : ['test/*.test.ts']
}
