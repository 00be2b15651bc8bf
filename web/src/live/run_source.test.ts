import {afterEach, beforeEach, expect, it, vi} from 'vitest'
import type {LiveRun} from './run_source.ts'

const event = (seq: number, type: string, data: object) => ({seq, type, time: '2026-01-01T00:00:00Z', data})
const page = (...items: object[]) => new Response(JSON.stringify({items}), {headers: {'Content-Type': 'application/json'}})
const problem = (status: number) =>
  new Response(JSON.stringify({title: 'Not found', status, code: 'not_found'}), {status, headers: {'Content-Type': 'application/problem+json'}})

beforeEach(() => {
  vi.resetModules() // the client keeps the fetch that is there when it is made
  vi.useFakeTimers({shouldAdvanceTime: true, advanceTimeDelta: 500})
  vi.stubGlobal('document', {querySelector: () => null})
  vi.stubGlobal('window', {location: {origin: 'http://127.0.0.1', host: '127.0.0.1'}})
  vi.stubGlobal('navigator', {}) // without locks a tab asks again and again
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

// read follows a run whose requests are answered in turn, the last answer again and again, until its state is as wanted.
async function read(answers: (() => Response)[], until: (r: LiveRun) => boolean) {
  let asked = 0
  vi.stubGlobal('fetch', async () => answers[Math.min(asked++, answers.length - 1)]!())
  const {RunSource} = await import('./run_source.ts')
  const source = new RunSource('r', null)
  await new Promise<void>(done => {
    source.subscribe(() => until(source.get()) && done())
    source.start()
  })
  const then = asked
  await vi.advanceTimersByTimeAsync(10_000)
  return {run: source.get(), more: asked - then}
}

it('a run that is deleted while a page asks for its events is not asked for again, and stays as it was', async () => {
  const {run, more} = await read([() => page(event(1, 'run.started', {})), () => problem(404)], r => r.state === 'refused')
  expect(more).toBe(0)
  expect(run.events.map(e => e.seq)).toEqual([1])
})

it('a server that does not answer is asked again', async () => {
  const {more} = await read([() => page(event(1, 'run.started', {})), () => problem(503)], r => r.state === 'lost')
  expect(more).toBeGreaterThan(2)
})
