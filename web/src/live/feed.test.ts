import {beforeEach, describe, expect, it, vi} from 'vitest'
import {type FeedState, follow, type Notice, onNotice} from './feed.ts'

// This fakes a browser with one lock, which the first tab that requests it holds, and a channel
// between its tabs.
const browser = vi.hoisted(() => {
  const browser = {
    answer: async (): Promise<Response> => new Response(),
    led: 0,
    channels: new Set<{onmessage: (m: {data: unknown}) => void}>(),
  }
  vi.stubGlobal('document', Object.assign(new EventTarget(), {querySelector: () => null, visibilityState: 'visible'}))
  vi.stubGlobal('window', Object.assign(new EventTarget(), {location: {origin: 'http://127.0.0.1', host: '127.0.0.1'}}))
  vi.stubGlobal('fetch', () => browser.answer())
  vi.stubGlobal(
    'BroadcastChannel',
    class {
      onmessage = (_: {data: unknown}) => {}
      constructor() {
        browser.channels.add(this)
      }
      postMessage(data: unknown) {
        for (const c of browser.channels) if (c !== this) c.onmessage({data})
      }
      close() {
        browser.channels.delete(this)
      }
    },
  )
  return browser
})

const locks = {
  request: async (_: string, __: object, f: () => Promise<void>) => (browser.led++ === 0 ? f() : undefined),
}

const tab = () => {
  const states: FeedState[] = []
  return {states, stop: follow(s => states.push(s))}
}

let got: Notice[] = []

beforeEach(() => {
  vi.useFakeTimers()
  vi.stubGlobal('navigator', {locks})
  browser.led = 0
  got = []
  const leave = onNotice(n => got.push(n))
  return () => {
    leave()
    vi.useRealTimers()
  }
})

describe('the feed', () => {
  it('is read by one tab, which passes on what it says', async () => {
    const text =
      'id: 7\nevent: feed.ready\ndata: {"type":"feed.ready"}\n\n' +
      'event: run.started\ndata: {"type":"run.started","run":"r","workflow":"w"}\n\n'
    const quiet = new ReadableStream({start: c => c.enqueue(new TextEncoder().encode(text))})
    browser.answer = async () => new Response(quiet)
    const [one, two] = [tab(), tab()]
    await vi.advanceTimersByTimeAsync(100)
    expect(one.states).toEqual(['connecting', 'open'])
    expect(two.states).toEqual(['open'])
    const started = {type: 'run.started', run: 'r', workflow: 'w'}
    expect(got).toEqual([{type: 'feed.ready'}, {type: 'feed.ready'}, started, started])
    one.stop()
    two.stop()
    expect(browser.channels.size).toBe(0)
  })
  it('is asked for again and again where a server has none', async () => {
    browser.answer = async () => Response.json({title: 'Not found', status: 404, code: 'not-found'}, {status: 404})
    const {states, stop} = tab()
    await vi.advanceTimersByTimeAsync(9500)
    expect(states).toEqual(['connecting', 'polling'])
    expect(got).toEqual([{type: 'poll'}, {type: 'poll'}, {type: 'poll'}])
    stop()
    await vi.advanceTimersByTimeAsync(9500)
    expect(got).toHaveLength(3)
  })
  it('is not read without locks: each tab asks', async () => {
    vi.stubGlobal('navigator', {})
    const {states, stop} = tab()
    await vi.advanceTimersByTimeAsync(3500)
    expect(states).toEqual(['polling'])
    expect(got).toEqual([{type: 'poll'}])
    stop()
  })
})
