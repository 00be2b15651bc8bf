import {apiBase} from './base.ts'
import {pageHeader, signedOut} from './client.ts'
import {type Message, parser} from './sse.ts'

export type StreamState = 'connecting' | 'open' | 'lost' | 'done' | 'refused'

type Config = {
  // path is below /api/v1, with its query.
  path: string
  // after is the id of the last message that is known; '' begins at the beginning.
  after: () => string
  got: (m: Message) => void
  state: (s: StreamState, status?: number) => void
  // isEnd tells whether a message is the last one.
  isEnd?: (m: Message) => boolean
}

const waits = [250, 1000, 2000, 5000]

// stream reads a stream until it is stopped, and goes on after what it has when a connection breaks. It uses fetch: an EventSource sends no header, and the cookie alone counts for nothing.
export function stream(c: Config): () => void {
  const stop = new AbortController()
  let failures = 0
  const once = async (): Promise<boolean> => {
    const last = c.after()
    const headers: Record<string, string> = {...pageHeader, Accept: 'text/event-stream'}
    if (last) headers['Last-Event-ID'] = last
    const answer = await fetch(apiBase + c.path, {headers, credentials: 'same-origin', cache: 'no-store', signal: stop.signal})
    if (answer.status === 401) signedOut()
    if (answer.status === 204) {
      c.state('done') // it has ended, and all of it is known
      return true
    }
    if (!answer.ok || !answer.body) {
      if (answer.status >= 500 || answer.status === 429) throw new Error(`status ${answer.status}`)
      c.state('refused', answer.status)
      return true
    }
    c.state('open')
    failures = 0
    let done = false
    const feed = parser(m => {
      if (done) return
      c.got(m)
      done = c.isEnd?.(m) ?? false
    })
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader()
    while (!done) {
      const {value, done: over} = await reader.read()
      if (over) break
      feed(value)
    }
    await reader.cancel().catch(() => undefined)
    if (done) c.state('done')
    return done
  }
  const run = async () => {
    c.state('connecting')
    while (!stop.signal.aborted) {
      try {
        if (await once()) return
      } catch {
        if (stop.signal.aborted) return
      }
      c.state('lost')
      await pause(waits[Math.min(failures++, waits.length - 1)]!, stop.signal)
    }
  }
  void run()
  return () => stop.abort()
}

// pause waits, until the network is back, or until it is stopped.
function pause(ms: number, stop: AbortSignal): Promise<void> {
  return new Promise(done => {
    const over = () => {
      clearTimeout(timer)
      window.removeEventListener('online', over)
      stop.removeEventListener('abort', over)
      done()
    }
    const timer = setTimeout(over, ms)
    window.addEventListener('online', over)
    stop.addEventListener('abort', over)
  })
}
