import {base} from '../api/base.ts'
import {type StreamState, stream} from '../api/stream.ts'

// Notice reports that something in the namespace has changed.
export type Notice = {type: string; run?: string; workflow?: string}

const listeners = new Set<(n: Notice) => void>()

// onNotice calls back with each notice that this tab receives, whichever tab holds the stream.
export function onNotice(f: (n: Notice) => void): () => void {
  listeners.add(f)
  return () => listeners.delete(f)
}

export type FeedState = StreamState | 'polling'

type Told = {notice?: Notice; state?: FeedState}

const pollEvery = 3000

// follow reports all changes in every tab: one tab holds the stream and forwards its messages. A
// server without the feed is polled, and the notice is then `poll`.
export function follow(tell: (s: FeedState) => void): () => void {
  const stop = new AbortController()
  const got = (n: Notice) => {
    for (const f of listeners) f(n)
  }
  const channel = new BroadcastChannel(`hocket-feed:${base}`)
  channel.onmessage = (m: MessageEvent<Told>) => {
    if (m.data.notice) got(m.data.notice)
    if (m.data.state) tell(m.data.state)
  }
  const pass = (told: Told) => {
    if (told.notice) got(told.notice)
    if (told.state) tell(told.state)
    if (!stop.signal.aborted) channel.postMessage(told)
  }
  const lead = () =>
    new Promise<void>(done => {
      let last = ''
      const close = stream({
        path: '/events',
        after: () => last,
        got: m => {
          if (m.id) last = m.id
          pass({notice: noticeOf(m.event, m.data)})
        },
        state: (s, {error}) => {
          if (s === 'refused' && error?.status !== 401) {
            pass({state: 'polling'})
            const timer = setInterval(() => pass({notice: {type: 'poll'}}), pollEvery)
            stop.signal.addEventListener('abort', () => clearInterval(timer))
            return
          }
          pass({state: s})
          if (s === 'refused') done()
        },
      })
      stop.signal.addEventListener('abort', () => {
        close()
        done()
      })
    })
  if ('locks' in navigator) {
    navigator.locks
      .request(`hocket-feed:${window.location.host}${base}`, {signal: stop.signal}, lead)
      .catch(() => undefined)
  } else {
    tell('polling')
    const timer = setInterval(() => got({type: 'poll'}), pollEvery)
    stop.signal.addEventListener('abort', () => clearInterval(timer))
  }
  return () => {
    stop.abort()
    channel.close()
  }
}

function noticeOf(event: string, data: string): Notice {
  try {
    const d = JSON.parse(data) as {run?: string; workflow?: string; type?: string}
    return {type: d.type ?? event, ...(d.run ? {run: d.run} : {}), ...(d.workflow ? {workflow: d.workflow} : {})}
  } catch {
    return {type: event}
  }
}
