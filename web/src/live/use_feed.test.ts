import {QueryClient, QueryObserver} from '@tanstack/react-query'
import {afterEach, expect, it, vi} from 'vitest'
import {Asking, changedBy} from './use_feed.ts'

vi.hoisted(() => {
  vi.stubGlobal('document', {querySelector: () => null})
  vi.stubGlobal('window', {location: {origin: 'http://127.0.0.1'}})
})

it('asks anew for what a notice changes alone, and for all where notices may be missing', () => {
  for (const type of ['run.started', 'run.completed', 'wait.opened', 'wait.closed'])
    expect(changedBy(type)).toEqual(['runs', 'counts', 'waits'])
  for (const type of ['workflow.changed', 'workflow.deleted'])
    expect(changedBy(type)).toEqual(['workflows', 'schedules'])
  expect(changedBy('schedule.refused')).toEqual(['schedules'])
  for (const type of ['feed.ready', 'poll', 'of another version'])
    expect(changedBy(type)).toEqual(['runs', 'counts', 'waits', 'workflows', 'schedules'])
})

afterEach(() => void vi.useRealTimers())

it('asks once for many notices, and waits for the answer to what is being asked', async () => {
  vi.useFakeTimers()
  const queries = new QueryClient()
  const answers: ((n: number) => void)[] = []
  const asked = {runs: 0, waits: 0}
  const watch = (key: 'runs' | 'waits', queryFn: () => Promise<number>) =>
    new QueryObserver(queries, {queryKey: [key, 'list'], queryFn, staleTime: Number.POSITIVE_INFINITY}).subscribe(
      () => {},
    )
  watch('runs', () => {
    asked.runs++
    return new Promise(done => answers.push(done))
  })
  watch('waits', async () => ++asked.waits)
  await vi.advanceTimersByTimeAsync(0)
  expect(asked).toEqual({runs: 1, waits: 1})
  const asking = new Asking(queries)
  for (let i = 0; i < 10; i++) {
    asking.ask(['runs', 'waits'])
    await vi.advanceTimersByTimeAsync(20)
  }
  await vi.advanceTimersByTimeAsync(1000)
  expect(asked, 'the answer for runs has not come').toEqual({runs: 1, waits: 2})
  answers[0]!(1)
  await vi.advanceTimersByTimeAsync(1000)
  expect(asked).toEqual({runs: 2, waits: 2})
  asking.ask(['waits'])
  asking.stop()
  await vi.advanceTimersByTimeAsync(10_000)
  expect(asked.waits).toBe(2)
  queries.clear()
})

it('asks for what takes long less often', async () => {
  vi.useFakeTimers()
  const queries = new QueryClient()
  let asked = 0
  const queryFn = () => new Promise<number>(done => setTimeout(() => done(++asked), 1000))
  new QueryObserver(queries, {queryKey: ['runs'], queryFn}).subscribe(() => {})
  await vi.advanceTimersByTimeAsync(1000)
  const asking = new Asking(queries)
  for (let i = 0; i < 1000; i++) {
    asking.ask(['runs'])
    await vi.advanceTimersByTimeAsync(50)
  }
  expect(asked, 'in 50 s, of which a fifth may be spent on answers').toBeGreaterThanOrEqual(10)
  expect(asked).toBeLessThanOrEqual(12)
  asking.stop()
  queries.clear()
})

it('keeps the pause of the slowest of several keys, and gives up what is never answered', async () => {
  vi.useFakeTimers()
  const queries = new QueryClient()
  const asked = {runs: 0, waits: 0}
  const watch = (key: 'runs' | 'waits', ms: number) =>
    new QueryObserver(queries, {
      queryKey: [key],
      queryFn: () => new Promise<number>(done => setTimeout(() => done(++asked[key]), ms)),
    }).subscribe(() => {})
  watch('runs', 1000)
  watch('waits', 10)
  await vi.advanceTimersByTimeAsync(1000)
  const asking = new Asking(queries)
  for (let i = 0; i < 1000; i++) {
    asking.ask(['runs', 'waits'])
    await vi.advanceTimersByTimeAsync(50)
  }
  expect(asked.runs).toBeLessThanOrEqual(12)
  asking.stop()
  queries.clear()

  let begun = 0
  const dead = new QueryClient()
  new QueryObserver(dead, {
    queryKey: ['runs'],
    initialData: 0,
    queryFn: () => (begun++ === 0 ? new Promise<number>(() => {}) : Promise.resolve(1)),
  }).subscribe(() => {})
  const again = new Asking(dead)
  again.ask(['runs'])
  await vi.advanceTimersByTimeAsync(9_000)
  expect(begun).toBe(1)
  await vi.advanceTimersByTimeAsync(2_000)
  expect(begun, 'what was never answered').toBe(2)
  again.stop()
  dead.clear()
})
