import {afterEach, beforeEach, expect, it, vi} from 'vitest'
import type {StreamState} from './stream.ts'

const texts = (...pieces: string[]) => new Response(new Blob(pieces).stream(), {headers: {'Content-Type': 'text/event-stream'}})

// follow reads a stream whose requests are answered in turn, and gives its states, its messages and what was asked as the last message.
async function follow(answers: (Response | Error)[], isEnd = false) {
  const states: StreamState[] = []
  const got: string[] = []
  const asked: string[] = []
  vi.stubGlobal('fetch', async (_: string, init: {headers: Record<string, string>}) => {
    asked.push(init.headers['Last-Event-ID'] ?? '')
    const a = answers.shift()
    if (!a) throw new Error('nothing more is asked')
    if (a instanceof Error) throw a
    return a
  })
  const {stream} = await import('./stream.ts')
  await new Promise<void>(done => {
    const stop = stream({
      path: '/events',
      after: () => got.at(-1) ?? '',
      got: m => got.push(m.id),
      isEnd: m => isEnd && m.event === 'end',
      state: s => {
        states.push(s)
        if (s === 'done' || s === 'refused') done()
        if (s === 'lost' && answers.length === 0) {
          stop()
          done()
        }
      },
    })
  })
  return {states, got, asked}
}

beforeEach(() => {
  vi.useFakeTimers({shouldAdvanceTime: true, advanceTimeDelta: 1000})
  vi.stubGlobal('document', {querySelector: () => null})
  vi.stubGlobal('window', {location: {origin: 'http://127.0.0.1'}, addEventListener: () => undefined, removeEventListener: () => undefined})
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

it('ends with its last message', async () => {
  const {states, got} = await follow([texts('id: 1\ndata: a\n\n', 'id: 2\nevent: end\ndata: b\n\n')], true)
  expect(got).toEqual(['1', '2'])
  expect(states).toEqual(['connecting', 'open', 'done'])
})

it('goes on behind what it has when a connection breaks', async () => {
  const {states, asked} = await follow([texts('id: 1\ndata: a\n\n'), new Error('gone'), texts('id: 2\nevent: end\ndata: b\n\n')], true)
  expect(asked).toEqual(['', '1', '1'])
  expect(states).toEqual(['connecting', 'open', 'lost', 'lost', 'open', 'done'])
})

it('ends where the connection broke behind all messages, and the server has no more', async () => {
  const {states} = await follow([texts('id: 1\ndata: a\n\n'), new Response(null, {status: 204})])
  expect(states).toEqual(['connecting', 'open', 'lost', 'done'])
})

it('is refused where the server says so, and asks no more', async () => {
  const {states} = await follow([new Response('', {status: 404})])
  expect(states).toEqual(['connecting', 'refused'])
})
