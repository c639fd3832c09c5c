import { expect, test } from 'vitest'
import { makeBreaker, type BreakerState } from '../src/providers/http/limits.ts'

function setUp() {
  const clock = { ms: 1_000_000 }
  const changes: BreakerState[] = []
  const breaker = makeBreaker({
    failures: 3,
    coolDownMs: 5_000,
    now: () => new Date(clock.ms),
    onChange: (state) => changes.push(state),
  })
  const fail = (times: number) => {
    for (let i = 0; i < times; i++) breaker.enter()!('faulty')
  }
  return { clock, breaker, changes, fail }
}

test('it opens after as many faults in a row, and not before', () => {
  const { breaker, fail } = setUp()
  fail(2)
  expect(breaker.state()).toBe('closed')
  fail(1)
  expect(breaker.state()).toBe('open')
  expect(breaker.enter()).toBeUndefined()
})

test('a healthy call between faults starts the count again', () => {
  const { breaker, fail } = setUp()
  fail(2)
  breaker.enter()!('healthy')
  fail(2)
  expect(breaker.state()).toBe('closed')
})

test('calls that say nothing about the provider neither open it nor start the count again', () => {
  const { breaker, fail } = setUp()
  fail(2)
  for (let i = 0; i < 10; i++) breaker.enter()!('none')
  expect(breaker.state()).toBe('closed')
  fail(1)
  expect(breaker.state()).toBe('open')
})

test('after the cool-down exactly one probe goes through, and its success closes it', () => {
  const { clock, breaker, fail, changes } = setUp()
  fail(3)
  clock.ms += 4_999
  expect(breaker.enter()).toBeUndefined()
  clock.ms += 1
  expect(breaker.state()).toBe('half-open')
  const probe = breaker.enter()
  expect(probe).toBeDefined()
  expect(breaker.enter()).toBeUndefined()
  probe!('healthy')
  expect(breaker.state()).toBe('closed')
  expect(breaker.enter()).toBeDefined()
  expect(changes).toEqual(['open', 'half-open', 'closed'])
})

test('a probe that fails opens it for another cool-down', () => {
  const { clock, breaker, fail } = setUp()
  fail(3)
  clock.ms += 5_000
  breaker.enter()!('faulty')
  expect(breaker.state()).toBe('open')
  clock.ms += 4_999
  expect(breaker.enter()).toBeUndefined()
  clock.ms += 1
  expect(breaker.enter()).toBeDefined()
})

test('a probe that never went out leaves its place to the next', () => {
  const { clock, breaker, fail } = setUp()
  fail(3)
  clock.ms += 5_000
  breaker.enter()!('none')
  expect(breaker.state()).toBe('half-open')
  expect(breaker.enter()).toBeDefined()
})

test('a call that began before the last change of state has no vote', () => {
  const { clock, breaker, fail } = setUp()
  const slow = [breaker.enter()!, breaker.enter()!, breaker.enter()!]
  const slowSuccess = breaker.enter()!
  fail(3)
  slowSuccess('healthy')
  expect(breaker.state()).toBe('open')
  clock.ms += 5_000
  breaker.enter()!('healthy')
  for (const pass of slow) pass('faulty')
  expect(breaker.state()).toBe('closed')
})

test('a clock that is set back by an hour does not keep it open for an hour', () => {
  const { clock, breaker, fail } = setUp()
  fail(3)
  clock.ms -= 3_600_000
  expect(breaker.enter()).toBeDefined()
})

test('it opens with that of another process, for the rest of its cool-down', () => {
  const { clock, breaker, changes } = setUp()
  breaker.openWithOther(2_000)
  expect(breaker.enter()).toBeUndefined()
  clock.ms += 1_999
  expect(breaker.enter()).toBeUndefined()
  clock.ms += 1
  breaker.enter()!('healthy')
  expect(changes).toEqual(['open', 'half-open', 'closed'])
})

test('while its own calls succeed, it does not open with that of another process; one fault is enough', () => {
  const { clock, breaker, fail } = setUp()
  breaker.enter()!('healthy')
  clock.ms += 4_999
  breaker.openWithOther(5_000)
  expect(breaker.state()).toBe('closed')
  fail(1)
  breaker.openWithOther(5_000)
  expect(breaker.state()).toBe('open')
})

test('a success that is older than the cool-down does not speak against another process', () => {
  const { clock, breaker } = setUp()
  breaker.enter()!('healthy')
  clock.ms += 5_000
  breaker.openWithOther(5_000)
  expect(breaker.state()).toBe('open')
})

test('a call in flight that succeeds closes what another process opened', () => {
  const { breaker } = setUp()
  const inFlight = breaker.enter()!
  breaker.openWithOther(5_000)
  expect(breaker.enter()).toBeUndefined()
  inFlight('healthy')
  expect(breaker.state()).toBe('closed')
})
