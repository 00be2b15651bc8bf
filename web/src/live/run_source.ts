import {askExact, client, isGone} from '../api/client.ts'
import {type StreamState, stream} from '../api/stream.ts'
import {parse} from '../lib/exact.ts'
import {Fold} from '../run/project.ts'
import type {Definition, RunEvent, RunView} from '../run/types.ts'
import {holdSlot} from './slots.ts'

export type LiveRun = {
  view: RunView
  events: readonly RunEvent[]
  // saying is what models say at the moment, by call.
  saying: ReadonlyMap<string, string>
  state: StreamState | 'polling'
  // loaded tells whether all that was recorded when the page opened is there.
  loaded: boolean
  // past tells that it is shown as it was after an earlier event: it is the number of the last one.
  past?: number
}

// timeOf gives the time at which a run is shown.
export const timeOf = (live: LiveRun): number => (live.past ? Date.parse(live.events.at(-1)?.time ?? '') : Date.now())

const over = new Set(['completed', 'failed', 'cancelled'])
const pollEvery = 1500
// A view is drawn again after this many times what the last one took, so that most of the time is left for what comes in; but at least each slowest milliseconds.
const share = 8
const slowest = 3000

// RunSource holds the events of one run and follows it: over a stream where this tab has one of the three that a browser spares, by asking again and again otherwise.
export class RunSource {
  private readonly fold: Fold
  private events: RunEvent[] = []
  private readonly saying = new Map<string, string>()
  private state: LiveRun['state'] = 'connecting'
  private loaded = false
  private current: LiveRun
  private readonly listeners = new Set<() => void>()
  private planned = false
  private cost = 0
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
    while (!this.stop.signal.aborted && !this.isOver()) {
      const held = await holdSlot(this.stop.signal, () => this.follow())
      if (!held && !this.stop.signal.aborted) await this.poll()
    }
  }

  private isOver(): boolean {
    return this.loaded && over.has(this.fold.view().status)
  }

  // follow reads the stream to its end.
  private follow(): Promise<void> {
    return new Promise(done => {
      let atEnd = false
      this.closeStream = stream({
        path: `/runs/${encodeURIComponent(this.id)}/events?expand=true`,
        after: () => (this.last > 0 ? String(this.last) : ''),
        got: m => {
          if (m.event === 'end') {
            atEnd = true
            this.loaded = true
          } else if (m.event === 'model.delta' || m.event === 'model.reset') this.say(m.event, m.data)
          else if (m.id) this.add(parse(m.data) as RunEvent)
          this.plan()
        },
        isEnd: m => m.event === 'end',
        state: s => {
          this.state = s
          if (s === 'open') this.loaded = true
          if (s === 'done' || s === 'refused') {
            if (s === 'refused' && !atEnd) this.stop.abort()
            done()
          }
          this.plan()
        },
      })
      this.stop.signal.addEventListener('abort', () => {
        this.closeStream()
        done()
      })
    })
  }

  // poll asks for what is new, page by page.
  private async poll(): Promise<void> {
    this.state = 'polling'
    try {
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
        if (items.length < 1000) break
      }
      this.loaded = true
    } catch (err) {
      if (!this.stop.signal.aborted) this.state = 'lost'
      if (isGone(err)) {
        this.state = 'refused'
        this.stop.abort() // it was deleted
      }
    }
    this.plan()
    if (this.isOver() || this.stop.signal.aborted) return
    await new Promise<void>(done => {
      const end = () => {
        clearTimeout(timer)
        this.stop.signal.removeEventListener('abort', end)
        done()
      }
      const timer = setTimeout(end, pollEvery)
      this.stop.signal.addEventListener('abort', end)
    })
  }

  private add(e: RunEvent): void {
    if (e.seq <= this.last) return
    this.events.push(e)
    this.fold.add(e)
    if (e.type === 'model.replied' || e.type === 'model.failed') this.saying.delete(String(e.data.call))
  }

  private say(kind: string, data: string): void {
    const d = JSON.parse(data) as {data?: {call?: string; text?: string}; call?: string; text?: string}
    const {call = '', text = ''} = d.data ?? d
    if (kind === 'model.reset') this.saying.delete(call)
    else this.saying.set(call, (this.saying.get(call) ?? '') + text)
  }

  private snapshot(): LiveRun {
    return {view: this.fold.view(), events: [...this.events], saying: new Map(this.saying), state: this.state, loaded: this.loaded}
  }

  // plan draws once for all that came at the same time.
  private plan(): void {
    if (this.planned) return
    this.planned = true
    setTimeout(
      () => {
        const begun = performance.now()
        this.planned = false
        this.current = this.snapshot()
        for (const f of this.listeners) f()
        this.cost = performance.now() - begun
      },
      Math.min(slowest, Math.max(this.events.length > 2000 ? 200 : 30, this.cost * share)),
    )
  }
}
