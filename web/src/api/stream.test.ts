import {afterEach, beforeEach, describe, expect, it, vi} from 'vitest'
import type {ApiError} from './client.ts'
import type {StreamState} from './stream.ts'

const texts = (...pieces: string[]) =>
  new Response(new Blob(pieces).stream(), {headers: {'Content-Type': 'text/event-stream'}})

// follow reads a stream whose requests are answered in turn, and returns its states, its messages
// and the Last-Event-ID of each request.
async function follow(answers: (Response | Error)[], isEnd = false) {
  const states: StreamState[] = []
  const got: string[] = []
  const asked: string[] = []
  let error: ApiError | undefined
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
      state: (s, more) => {
        states.push(s)
        error = more.error ?? error
        if (s === 'done' || s === 'refused') done()
        if (s === 'lost' && answers.length === 0) {
          stop()
          done()
        }
      },
    })
  })
  return {states, got, asked, error}
}

beforeEach(() => {
  vi.useFakeTimers({shouldAdvanceTime: true, advanceTimeDelta: 1000})
  vi.stubGlobal('document', Object.assign(new EventTarget(), {querySelector: () => null, visibilityState: 'visible'}))
  vi.stubGlobal('window', Object.assign(new EventTarget(), {location: {origin: 'http://127.0.0.1'}}))
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
  const {states, asked} = await follow(
    [texts('id: 1\ndata: a\n\n'), new Error('gone'), texts('id: 2\nevent: end\ndata: b\n\n')],
    true,
  )
  expect(asked).toEqual(['', '1', '1'])
  expect(states).toEqual(['connecting', 'open', 'lost', 'lost', 'open', 'done'])
})

it('ends where the connection broke behind all messages, and the server has no more', async () => {
  const {states} = await follow([texts('id: 1\ndata: a\n\n'), new Response(null, {status: 204})])
  expect(states).toEqual(['connecting', 'open', 'lost', 'done'])
})

it('is refused where the server says so, with its reason, and asks no more', async () => {
  const {states, error} = await follow([
    Response.json({title: 'Not found', detail: 'no run a', status: 404, code: 'not-found'}, {status: 404}),
  ])
  expect(states).toEqual(['connecting', 'refused'])
  expect(error).toMatchObject({status: 404, message: 'no run a'})
})

describe('the end of a stream', () => {
  // lasting returns the states of a stream whose last message has arrived, and a function that
  // closes its response.
  const lasting = async () => {
    vi.useFakeTimers()
    let answer: ReadableStreamDefaultController<Uint8Array> | undefined
    const left = vi.fn()
    const start = (c: typeof answer) => {
      answer = c
      c?.enqueue(new TextEncoder().encode('id: 1\nevent: end\ndata: a\n\n'))
    }
    vi.stubGlobal('fetch', async () => new Response(new ReadableStream({start, cancel: left})))
    const {stream} = await import('./stream.ts')
    const states: StreamState[] = []
    stream({
      path: '/events',
      after: () => '',
      got: () => undefined,
      isEnd: m => m.event === 'end',
      state: s => states.push(s),
    })
    await vi.advanceTimersByTimeAsync(900)
    return {states, left, answer: answer!}
  }
  it('is told once the server has closed it, so that another may begin', async () => {
    const {states, answer} = await lasting()
    expect(states).toEqual(['connecting', 'open'])
    answer.close()
    await vi.advanceTimersByTimeAsync(1)
    expect(states).toEqual(['connecting', 'open', 'done'])
    expect(vi.getTimerCount()).toBe(0)
  })
  it('is told where the connection breaks behind the last message', async () => {
    const {states, answer} = await lasting()
    answer.error(new Error('gone'))
    await vi.advanceTimersByTimeAsync(1)
    expect(states).toEqual(['connecting', 'open', 'done'])
  })
  it('is not waited for where the server keeps it open: it is closed here', async () => {
    const {states, left} = await lasting()
    expect(left).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(200)
    expect(states).toEqual(['connecting', 'open', 'done'])
    expect(left).toHaveBeenCalledOnce()
  })
})

describe('a stream that breaks', () => {
  // watched returns the requests of a stream whose responses are made by answer.
  const watched = async (answer: (n: number, signal: AbortSignal) => Response) => {
    vi.useFakeTimers()
    const at: number[] = []
    const begun = Date.now()
    vi.stubGlobal('fetch', async (_: string, init: {signal: AbortSignal}) => {
      at.push(Date.now() - begun)
      return answer(at.length, init.signal)
    })
    const {stream} = await import('./stream.ts')
    const states: StreamState[] = []
    const stop = stream({path: '/events', after: () => '', got: () => undefined, state: s => states.push(s)})
    return {at, states, stop}
  }
  // quiet is a response that starts immediately and then sends nothing more.
  const quiet = (signal: AbortSignal) =>
    new Response(
      new ReadableStream({
        start(c) {
          c.enqueue(new TextEncoder().encode('retry: 1000\n\n'))
          signal.addEventListener('abort', () => c.error(signal.reason))
        },
      }),
    )

  it('right behind its headers each time is asked for ever more rarely', async () => {
    const {at, stop} = await watched(() => texts('retry: 1000\n\n'))
    await vi.advanceTimersByTimeAsync(60_000)
    stop()
    expect(at.length).toBeLessThan(20)
    expect(at.length).toBeGreaterThan(10)
  })
  it('behind a message is asked for again at once', async () => {
    const {at, stop} = await watched(n => texts(`id: ${n}\ndata: a\n\n`))
    await vi.advanceTimersByTimeAsync(10_000)
    stop()
    expect(at.length).toBeGreaterThan(30)
  })
  it('without a word is given up after a while', async () => {
    const {at, states, stop} = await watched((_, signal) => quiet(signal))
    await vi.advanceTimersByTimeAsync(40_000)
    expect(at).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(6000)
    stop()
    expect(at).toHaveLength(2)
    expect(states).toEqual(['connecting', 'open', 'lost', 'open'])
  })
  it('while the browser was away is asked for again when it is back', async () => {
    const {at, stop} = await watched((_, signal) => quiet(signal))
    await vi.advanceTimersByTimeAsync(15_000)
    document.dispatchEvent(new Event('visibilitychange'))
    await vi.advanceTimersByTimeAsync(1000)
    expect(at).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(10_000)
    document.dispatchEvent(new Event('visibilitychange'))
    await vi.advanceTimersByTimeAsync(1000)
    stop()
    expect(at).toHaveLength(2)
  })
  it('is asked for no more once it is stopped', async () => {
    const {at, stop} = await watched((_, signal) => quiet(signal))
    await vi.advanceTimersByTimeAsync(1000)
    stop()
    await vi.advanceTimersByTimeAsync(100_000)
    expect(at).toHaveLength(1)
  })
})
