import {beforeEach, describe, expect, it, vi} from 'vitest'
import type {Notice} from './feed.ts'
import {RunSource} from './run_source.ts'

// net.answer answers each request for a stream or a page; net.tell sends notices. The client
// captures fetch when it is created.
const net = vi.hoisted(() => {
  const net = {
    answer: (_: string, __: string): Response => new Response(),
    held: 0,
    listeners: new Set<(n: Notice) => void>(),
  }
  vi.stubGlobal('document', Object.assign(new EventTarget(), {querySelector: () => null, visibilityState: 'visible'}))
  vi.stubGlobal('window', Object.assign(new EventTarget(), {location: {origin: 'http://127.0.0.1', host: '127.0.0.1'}}))
  vi.stubGlobal('fetch', async (q: Request | string, init?: {headers: Record<string, string>}) =>
    typeof q === 'string'
      ? net.answer('stream', init?.headers['Last-Event-ID'] ?? '')
      : net.answer('page', new URL(q.url).searchParams.get('cursor') ?? ''),
  )
  vi.stubGlobal('navigator', {
    locks: {
      request: async (_: string, __: object, f: (lock: object) => Promise<boolean>) => {
        net.held++
        return f({}).finally(() => net.held--)
      },
    },
  })
  return net
})
vi.mock('./feed.ts', () => ({
  onNotice: (f: (n: Notice) => void) => {
    net.listeners.add(f)
    return () => net.listeners.delete(f)
  },
}))

const tell = (n: Notice) => {
  for (const f of net.listeners) f(n)
}

const event = (seq: number, type: string, data: object = {}) => ({
  run: 'r',
  seq,
  time: new Date(seq).toISOString(),
  type,
  node: null,
  step: null,
  data,
})
const message = (e: {seq: number; type: string}) => `id: ${e.seq}\nevent: ${e.type}\ndata: ${JSON.stringify(e)}\n\n`
const piece = (offset: number, text: string) =>
  `event: model.delta\ndata: ${JSON.stringify({call: '1.1', attempt: 1, offset, text})}\n\n`
const end = 'event: end\ndata: {}\n\n'
const created = event(1, 'run.created')
const started = event(2, 'run.started')
const failed = event(3, 'run.failed', {error: {code: 'limit', message: 'too many steps'}})
const gone = () =>
  Response.json({title: 'Not found', detail: 'no run r', status: 404, code: 'not-found'}, {status: 404})

// sending returns a stream that emits the arguments of send, until cut.
function sending(recorded: number) {
  let out: ReadableStreamDefaultController<Uint8Array>
  const body = new ReadableStream<Uint8Array>({
    start(c) {
      out = c
    },
  })
  return {
    answer: new Response(body, {headers: {'Hocket-Last-Event': String(recorded)}}),
    send: async (...texts: string[]) => {
      out.enqueue(new TextEncoder().encode(texts.join('')))
      await vi.advanceTimersByTimeAsync(200)
    },
    sendAndLook: async (ms: number, ...texts: string[]) => {
      out.enqueue(new TextEncoder().encode(texts.join('')))
      await vi.advanceTimersByTimeAsync(ms)
    },
    cut: async () => {
      out.close()
      await vi.advanceTimersByTimeAsync(500)
    },
  }
}

// followed is a source whose requests are answered in turn.
async function followed(...answers: Response[]) {
  const asked: string[] = []
  net.answer = (kind, after) => {
    asked.push(`${kind} ${after}`)
    return answers.shift() ?? new Response(null, {status: 503})
  }
  const source = new RunSource('r', null)
  const stop = source.start()
  await vi.advanceTimersByTimeAsync(200)
  return {source, asked, stop, answers}
}

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

describe('a run that is followed', () => {
  it('is loaded when all is there that was recorded', async () => {
    const s = sending(3)
    const {source, stop} = await followed(s.answer)
    expect(source.get()).toMatchObject({state: 'open', loaded: false})
    await s.send(message(created), message(started))
    expect(source.get().events).toHaveLength(2)
    expect(source.get().loaded).toBe(false)
    await s.send(message(event(3, 'run.paused')))
    expect(source.get().loaded).toBe(true)
    stop()
  })
  it('is loaded at the end, and where a connection broke behind the last event', async () => {
    const s = sending(3)
    const {source, asked, stop} = await followed(s.answer, new Response(null, {status: 204}))
    await s.send(message(created), message(started), message(failed))
    await s.cut()
    expect(asked).toEqual(['stream ', 'stream 3'])
    expect(source.get()).toMatchObject({state: 'done', loaded: true, view: {status: 'failed'}})
    expect(net.held).toBe(0)
    stop()
  })
  it('shows what a model says once, where its pieces come again', async () => {
    const s = sending(2)
    const again = sending(2)
    const {source, stop} = await followed(s.answer, again.answer)
    await s.send(message(created), message(started), piece(0, 'Once '), piece(5, 'upon '))
    expect(source.get().streamed.get('1.1')).toBe('Once upon ')
    await s.cut()
    await again.send(piece(0, 'Once '), piece(5, 'upon '), piece(10, 'a time'))
    expect(source.get().streamed.get('1.1')).toBe('Once upon a time')
    stop()
  })
  it('is drawn at once where nothing came for a while, and then no oftener than its drawing allows', async () => {
    const s = sending(2)
    const {source, stop} = await followed(s.answer)
    await s.send(message(created), message(started))
    let draws = 0
    source.subscribe(() => {
      draws++
      const now = performance.now()
      vi.spyOn(performance, 'now').mockImplementationOnce(() => now + 50) // it took 50 ms
    })
    await vi.advanceTimersByTimeAsync(1000)
    draws = 0
    await s.sendAndLook(15, message(event(3, 'step.started', {node: 'a'})))
    expect(draws).toBe(1)
    expect(source.get().events).toHaveLength(3)
    for (let seq = 4; seq < 24; seq++) await s.sendAndLook(10, message(event(seq, 'step.started', {node: 'a'})))
    expect(draws, 'eight times 50 ms have not passed').toBe(1)
    await vi.advanceTimersByTimeAsync(400)
    expect(draws).toBe(2)
    expect(source.get().events).toHaveLength(23)
    stop()
  })
  it('says why the server refuses it', async () => {
    const {source, asked} = await followed(gone())
    expect(source.get()).toMatchObject({state: 'refused', loaded: false, refused: {status: 404, message: 'no run r'}})
    await vi.advanceTimersByTimeAsync(100_000)
    expect(asked).toHaveLength(1)
  })
  it('says that it was deleted while it is shown', async () => {
    const s = sending(2)
    const {source} = await followed(s.answer, gone())
    await s.send(message(created), message(started))
    await s.cut()
    expect(source.get()).toMatchObject({state: 'refused', loaded: true, refused: {status: 404}})
    expect(net.held).toBe(0)
  })
})

describe('a run that has ended', () => {
  const ended = async (...more: Response[]) => {
    const s = sending(3)
    const all = await followed(s.answer, ...more)
    await s.send(message(created), message(started), message(failed), end)
    await s.cut()
    expect(all.source.get()).toMatchObject({state: 'done', view: {status: 'failed'}})
    expect(net.held).toBe(0)
    return all
  }
  const resumed = event(4, 'run.resumed')
  const page = (...items: object[]) => Response.json({items})

  it('is followed again where a notice says that something happened to it', async () => {
    const s = sending(4)
    const {source, asked, stop} = await ended(page(resumed), s.answer)
    tell({type: 'run.started', run: 'another'})
    await vi.advanceTimersByTimeAsync(100)
    expect(asked).toHaveLength(1)
    tell({type: 'wait.opened', run: 'r'})
    await vi.advanceTimersByTimeAsync(100)
    expect(asked).toEqual(['stream ', 'page 3', 'stream 4'])
    await s.send(message(event(5, 'run.completed', {output: 'fine'})), end)
    await s.cut()
    expect(source.get()).toMatchObject({state: 'done', view: {status: 'completed'}})
    stop()
  })
  it('is followed again where it is seen that it goes on, without a notice', async () => {
    const {source, asked, stop} = await ended(page(), page(resumed), sending(4).answer)
    await vi.advanceTimersByTimeAsync(25_000)
    expect(asked).toEqual(['stream ', 'page 3', 'page 3', 'stream 4'])
    expect(source.get()).toMatchObject({state: 'open', view: {status: 'running'}})
    stop()
  })
  it('is not polled by a hidden tab, nor after its page is left', async () => {
    const {asked, stop} = await ended()
    vi.stubGlobal('document', Object.assign(new EventTarget(), {querySelector: () => null, visibilityState: 'hidden'}))
    await vi.advanceTimersByTimeAsync(100_000)
    vi.stubGlobal('document', Object.assign(new EventTarget(), {querySelector: () => null, visibilityState: 'visible'}))
    stop()
    await vi.advanceTimersByTimeAsync(100_000)
    expect(asked).toHaveLength(1)
    expect(net.listeners.size).toBe(0)
  })
  it('says that it was deleted meanwhile, and shows what there was', async () => {
    const {source} = await ended(gone())
    await vi.advanceTimersByTimeAsync(11_000)
    expect(source.get()).toMatchObject({state: 'refused', refused: {status: 404}, view: {status: 'failed'}})
  })
  it('is asked for again where the server did not answer', async () => {
    const {source, stop} = await ended(new Response(null, {status: 503}), page(resumed), sending(4).answer)
    await vi.advanceTimersByTimeAsync(25_000)
    expect(source.get().view.status).toBe('running')
    stop()
  })
})
