import {ApiError, askExact, client} from '../api/client.ts'
import {type StreamState, stream} from '../api/stream.ts'
import {parse} from '../lib/exact.ts'
import {Fold} from '../run/project.ts'
import type {Definition, RunEvent, RunView} from '../run/types.ts'
import {type Notice, onNotice} from './feed.ts'
import {holdSlot} from './slots.ts'
import {type Piece, StreamedText} from './streamed_text.ts'

export type LiveRun = {
  view: RunView
  events: readonly RunEvent[]
  // streamed holds the model output in progress, by call.
  streamed: ReadonlyMap<string, string>
  state: StreamState | 'polling'
  // loaded reports whether everything that was recorded when the page opened has arrived.
  loaded: boolean
  // refused is the reason why the run is no longer followed: it was deleted, or access is denied.
  refused: ApiError | null
  // past is the number of the last event if the run is shown as it was after an earlier event.
  past?: number
}

// timeOf returns the time at which a run is shown.
export const timeOf = (live: LiveRun): number => (live.past ? Date.parse(live.events.at(-1)?.time ?? '') : Date.now())

const over = new Set(['completed', 'failed', 'cancelled'])
const pollEvery = 1500
// A run that has ended may be reopened, which does not always cause a notice.
const watchEvery = 10_000
// The first view is drawn immediately. The next one is drawn after this multiple of the time that
// the last one took, so that most of the time is left for incoming events, but at least every
// slowest milliseconds.
const share = 8
const slowest = 3000
const soonest = 10

// RunSource holds the events of one run and follows it: through a stream if this tab has one of the
// three slots of the browser, and by polling otherwise.
export class RunSource {
  private readonly fold: Fold
  private events: RunEvent[] = []
  private readonly streamed = new StreamedText()
  private state: LiveRun['state'] = 'connecting'
  private loaded = false
  // recorded is the number of the last event when the stream started.
  private recorded = 0
  private ended = false
  private refused: ApiError | null = null
  private current: LiveRun
  private readonly listeners = new Set<() => void>()
  private planned = false
  private rest = 0 // the time before which nothing is drawn
  private readonly stop = new AbortController()
  private closeStream = () => {}

  constructor(
    private readonly id: string,
    def: Definition | null,
  ) {
    this.fold = new Fold(id, def)
    this.current = this.snapshot()
  }

  start(): () => void {
    void this.run()
    return () => {
      this.stop.abort()
      this.closeStream()
    }
  }

  subscribe = (f: () => void): (() => void) => {
    this.listeners.add(f)
    return () => this.listeners.delete(f)
  }

  get = (): LiveRun => this.current

  private get last(): number {
    return this.events.at(-1)?.seq ?? 0
  }

  private async run(): Promise<void> {
    while (!this.stop.signal.aborted) {
      if (this.isOver()) await this.watch()
      else {
        const held = await holdSlot(this.stop.signal, () => this.follow())
        if (!held && !this.stop.signal.aborted) await this.poll()
      }
    }
  }

  private isOver(): boolean {
    return this.ended || (this.loaded && over.has(this.fold.view().status))
  }

  // follow reads the stream to its end.
  private follow(): Promise<void> {
    return new Promise(done => {
      this.closeStream = stream({
        path: `/runs/${encodeURIComponent(this.id)}/events?expand=true`,
        after: () => (this.last > 0 ? String(this.last) : ''),
        got: m => {
          if (m.event === 'model.delta' || m.event === 'model.reset') this.say(m.event, m.data)
          else if (m.event !== 'end' && m.id) this.add(parse(m.data) as RunEvent)
          this.plan()
        },
        isEnd: m => m.event === 'end',
        state: (s, {headers, error}) => {
          this.state = s
          if (s === 'open') this.recorded = Number(headers?.get('Hocket-Last-Event') ?? 0)
          if (s === 'done') this.ended = true
          if (s === 'done' || (s === 'open' && this.last >= this.recorded)) this.loaded = true
          if (error) this.refuse(error)
          if (s === 'done' || s === 'refused') done()
          this.plan()
        },
      })
      const end = () => {
        this.closeStream()
        done()
      }
      this.stop.signal.addEventListener('abort', end, {once: true})
    })
  }

  // poll requests new events, and waits.
  private async poll(): Promise<void> {
    this.state = 'polling'
    try {
      await this.look()
      this.loaded = true
    } catch (err) {
      this.state = 'lost'
      if (isRefusal(err)) this.refuse(err)
    }
    this.plan()
    if (!this.isOver()) await this.pause(pollEvery)
  }

  // watch waits until a run that has ended is reopened. A hidden tab polls only after a notice.
  private async watch(): Promise<void> {
    const before = this.last
    while (!this.stop.signal.aborted && this.last === before) {
      const told = await this.pause(watchEvery, n => n.run === this.id || n.type === 'feed.ready')
      if (this.stop.signal.aborted) return
      if (!told && document.visibilityState === 'hidden') continue
      try {
        await this.look()
      } catch (err) {
        if (isRefusal(err)) this.refuse(err)
      }
    }
    this.plan()
  }

  // look requests new events, page by page.
  private async look(): Promise<void> {
    for (;;) {
      const page = await askExact<{items?: RunEvent[]}>(
        client.GET('/api/v1/runs/{id}/events', {
          parseAs: 'text',
          params: {path: {id: this.id}, query: {cursor: this.last, limit: 1000, expand: true}},
          signal: this.stop.signal,
        }),
      )
      const items = page.items ?? []
      for (const e of items) this.add(e)
      if (items.length < 1000) return
    }
  }

  private refuse(why: ApiError): void {
    this.refused = why
    this.state = 'refused'
    this.stop.abort()
  }

  // pause waits until the time has passed, a matching notice arrives, or the source is stopped. It
  // reports whether there was a notice.
  private pause(ms: number, counts: (n: Notice) => boolean = () => false): Promise<boolean> {
    return new Promise(done => {
      const end = (told: boolean) => {
        leave()
        clearTimeout(timer)
        this.stop.signal.removeEventListener('abort', stopped)
        done(told)
      }
      const stopped = () => end(false)
      const leave = onNotice(n => counts(n) && end(true))
      const timer = setTimeout(stopped, ms)
      this.stop.signal.addEventListener('abort', stopped)
    })
  }

  private add(e: RunEvent): void {
    if (e.seq <= this.last) return
    this.ended = false
    this.events.push(e)
    this.fold.add(e)
    if (this.recorded > 0 && e.seq >= this.recorded) this.loaded = true
    if (e.type === 'model.replied' || e.type === 'model.failed') this.streamed.drop(String(e.data.call))
  }

  private say(kind: string, data: string): void {
    const d = JSON.parse(data) as Piece & {data?: Piece}
    const piece = d.data ?? d
    if (kind === 'model.reset') this.streamed.drop(piece.call ?? '')
    else this.streamed.add(piece)
  }

  private snapshot(): LiveRun {
    const {state, loaded, refused} = this
    return {view: this.fold.view(), events: [...this.events], streamed: this.streamed.texts(), state, loaded, refused}
  }

  // plan schedules one update for all events that arrive at the same time.
  private plan(): void {
    if (this.planned) return
    this.planned = true
    setTimeout(
      () => {
        const begun = performance.now()
        this.planned = false
        this.current = this.snapshot()
        for (const f of this.listeners) f()
        const now = performance.now()
        this.rest = now + Math.min(slowest, Math.max(this.events.length > 2000 ? 200 : 30, (now - begun) * share))
      },
      Math.max(soonest, this.rest - performance.now()),
    )
  }
}

// isRefusal reports whether the server says that the run does not exist or that access is denied. A
// user who is signed out signs in again.
const isRefusal = (err: unknown): err is ApiError =>
  err instanceof ApiError && err.status >= 400 && err.status < 500 && err.status !== 401 && err.status !== 429
