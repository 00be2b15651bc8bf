import {apiBase} from './base.ts'
import {ApiError, type Problem, pageHeader, signedOut} from './client.ts'
import {type Message, parser} from './sse.ts'

export type StreamState = 'connecting' | 'open' | 'lost' | 'done' | 'refused'

type Config = {
  // path is relative to /api/v1 and includes the query.
  path: string
  // after returns the id of the last known message; '' means that the stream starts at the
  // beginning.
  after: () => string
  got: (m: Message) => void
  // state receives the headers when the stream is open, and the error if it was refused.
  state: (s: StreamState, more: {headers?: Headers; error?: ApiError}) => void
  // isEnd reports whether a message is the last one.
  isEnd?: (m: Message) => boolean
}

const waits = [250, 1000, 2000, 5000]
// A stream that was open for this long, or that delivered a message, is reopened soon after it
// breaks.
const lasting = 5000
// The server writes every 15 seconds. A connection is given up if nothing arrived for this long, or
// sooner if the browser was away.
const silent = 45_000
const silentAway = 20_000
// The server closes a stream after its last message. The client waits this long for it.
const closing = 1000

// stream reads a stream until it is stopped, and continues after the last message if a connection
// breaks. It uses fetch, because an EventSource cannot send headers and the cookie alone is not
// accepted.
export function stream(c: Config): () => void {
  const stop = new AbortController()
  let failures = 0
  const once = async (signal: AbortSignal, heard: () => void): Promise<boolean> => {
    const last = c.after()
    const headers: Record<string, string> = {...pageHeader, Accept: 'text/event-stream'}
    if (last) headers['Last-Event-ID'] = last
    const answer = await fetch(apiBase + c.path, {headers, credentials: 'same-origin', cache: 'no-store', signal})
    heard()
    if (answer.status === 401) signedOut()
    if (answer.status === 204) {
      c.state('done', {}) // the stream has ended, and all of it is known
      return true
    }
    if (!answer.ok || !answer.body) {
      if (answer.status >= 500 || answer.status === 429) throw new Error(`status ${answer.status}`)
      c.state('refused', {error: await errorOf(answer)})
      return true
    }
    c.state('open', {headers: answer.headers})
    const begun = performance.now()
    let done = false
    const feed = parser(m => {
      if (done) return
      failures = 0
      c.got(m)
      done = c.isEnd?.(m) ?? false
    })
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader()
    try {
      while (!done) {
        const {value, done: over} = await reader.read()
        if (over) break
        heard()
        feed(value)
      }
      if (done) await closed(reader)
    } finally {
      if (performance.now() - begun >= lasting) failures = 0
      await reader.cancel().catch(() => undefined)
    }
    if (done) c.state('done', {})
    return done
  }
  const run = async () => {
    c.state('connecting', {})
    while (!stop.signal.aborted) {
      try {
        if (await whileHeard(stop.signal, once)) return
      } catch {
        if (stop.signal.aborted) return
      }
      c.state('lost', {})
      await pause(waits[Math.min(failures++, waits.length - 1)]!, stop.signal)
    }
  }
  void run()
  return () => stop.abort()
}

// closed waits until the server has closed a stream: before that, a new stream in its place would
// exceed the limit.
async function closed(reader: ReadableStreamDefaultReader<string>): Promise<void> {
  const over = new AbortController()
  const rest = async () => {
    while (!(await reader.read()).done);
  }
  await Promise.race([rest().catch(() => undefined), pause(closing, over.signal)])
  over.abort()
}

async function errorOf(answer: Response): Promise<ApiError> {
  const problem: unknown = await answer
    .json()
    .catch(() => ({title: `The server answered with status ${answer.status}`, status: answer.status, code: 'internal'}))
  return new ApiError(problem as Problem, answer.headers.get('X-Request-Id') ?? '')
}

// whileHeard passes f a signal that aborts it if it has not called heard for too long: a dead
// connection may never report an error, for example after the machine slept.
async function whileHeard<T>(stop: AbortSignal, f: (signal: AbortSignal, heard: () => void) => Promise<T>): Promise<T> {
  const own = new AbortController()
  const end = () => own.abort()
  let at = Date.now()
  let timer = setTimeout(end, silent)
  const heard = () => {
    at = Date.now()
    clearTimeout(timer)
    timer = setTimeout(end, silent)
  }
  const back = () => {
    if (document.visibilityState !== 'hidden' && Date.now() - at > silentAway) end()
  }
  stop.addEventListener('abort', end)
  window.addEventListener('online', back)
  document.addEventListener('visibilitychange', back)
  try {
    return await f(own.signal, heard)
  } finally {
    clearTimeout(timer)
    stop.removeEventListener('abort', end)
    window.removeEventListener('online', back)
    document.removeEventListener('visibilitychange', back)
  }
}

// pause waits until the time has passed, the network is back, or it is stopped.
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
