import {beforeEach, describe, expect, it, vi} from 'vitest'
import {ApiError, type Problem} from '../api/client.ts'
import {localDrafts} from './local_draft.ts'
import {DocumentModel} from './model.ts'
import {type Ports, Session} from './session.ts'
import type {Stored} from './stored.ts'
import {unstored} from './unstored.ts'

vi.hoisted(() => {
  vi.stubGlobal('document', {querySelector: () => null, documentElement: {style: {}}})
  vi.stubGlobal('window', {location: {origin: 'http://127.0.0.1'}})
})

const stored = (text: string, version: number, published: number | null = null): Stored => ({
  text,
  etag: `"${version}-${published ?? ''}"`,
  definition: {
    id: 'letter',
    name: '',
    version,
    draft: published === version ? null : version,
    published,
    document: text,
  } as Stored['definition'],
})

const conflict = () =>
  new ApiError({title: 'Conflict', status: 409, code: 'conflict', reason: 'definition-changed'} as Problem, '')

// server holds one workflow, and rejects writes based on an outdated version.
const server = (text: string) => {
  let now = stored(text, 1)
  const stores: string[] = []
  const check = (was: Stored) => {
    if (was.etag !== now.etag) throw conflict()
  }
  return {
    stores,
    now: () => now,
    other: (text: string) => {
      now = stored(text, now.definition.version! + 1)
    },
    read: async () => now,
    store: async (was: Stored, text: string) => {
      check(was)
      stores.push(text)
      now = stored(text, now.definition.version! + 1)
      return now
    },
    publish: async (was: Stored) => {
      check(was)
      now = stored(now.text, now.definition.version!, now.definition.version)
      return now
    },
  }
}

const storage = (full = false) => {
  const kept = new Map<string, string>()
  return {
    getItem: (k: string) => kept.get(k) ?? null,
    setItem: (k: string, v: string) => {
      if (full) throw new Error('full')
      kept.set(k, v)
    },
    removeItem: (k: string) => void kept.delete(k),
  }
}

const opened = (s: ReturnType<typeof server>, disk = storage(), more: Partial<Ports> = {}) => {
  const model = new DocumentModel(s.now().text)
  const ports: Ports = {...s, drafts: localDrafts('default', 'letter', () => disk), now: () => new Date(0), ...more}
  const session = new Session(model, s.now(), ports)
  return {model, session, close: session.open(), disk}
}

const type = (model: DocumentModel, text: string) =>
  model.change([{from: model.text.length, to: model.text.length, insert: text}], 'type')

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

describe('a session', () => {
  it('stores nothing where nothing changed, and after all was undone', async () => {
    const s = server('a')
    const {model, session} = opened(s)
    expect(await session.save()).toBe(true)
    type(model, 'b')
    expect(session.state.dirty).toBe(true)
    model.undo()
    expect(session.state.dirty).toBe(false)
    expect(await session.save()).toBe(true)
    expect(s.stores).toEqual([])
  })
  it('stores the text, and keeps what is typed meanwhile as not stored', async () => {
    const s = server('a')
    const {model, session, close, disk} = opened(s)
    type(model, 'b')
    const saved = session.save()
    type(model, 'c')
    expect(await saved).toBe(true)
    expect(s.stores).toEqual(['ab'])
    expect(session.state).toMatchObject({dirty: true, error: null, conflict: null})
    close()
    const again = opened(s, disk)
    expect(again.session.state.found?.text).toBe('abc')
  })
  it('stores nothing over a newer version, and goes on with what a person chose', async () => {
    const s = server('a')
    const {model, session} = opened(s)
    type(model, 'mine')
    s.other('theirs')
    expect(await session.save()).toBe(false)
    expect(session.state.conflict?.text).toBe('theirs')
    expect(await session.save()).toBe(false)
    expect(s.stores).toEqual([])
    session.resolve('theirs and mine')
    expect(session.state).toMatchObject({conflict: null, dirty: true})
    s.other('theirs again')
    expect(await session.save()).toBe(false)
    expect(session.state.conflict?.text).toBe('theirs again')
    session.resolve('theirs again')
    expect(session.state.dirty).toBe(false)
    expect(await session.save()).toBe(true)
    expect(s.stores).toEqual([])
    model.undo()
    expect(model.text).toBe('theirs and mine')
  })
  it('is no conflict where both typed the same', async () => {
    const s = server('a')
    const {model, session} = opened(s)
    type(model, 'b')
    s.other('ab')
    expect(await session.save()).toBe(false)
    expect(session.state).toMatchObject({conflict: null, dirty: false})
    expect(await session.publish()).toBe(true)
    expect(s.now().definition.published).toBe(2)
  })
  it('shows what another client stored right behind its own draft', async () => {
    const s = server('a')
    const store: Ports['store'] = async (was, text) => {
      const mine = await s.store(was, text)
      s.other('theirs')
      return {...mine, etag: s.now().etag, definition: {...mine.definition, draft: s.now().definition.draft}}
    }
    const {model, session} = opened(s, storage(), {store})
    type(model, 'b')
    expect(await session.save()).toBe(false)
    expect(session.state).toMatchObject({busy: null, conflict: {text: 'theirs'}})
    expect(await session.save()).toBe(false)
    expect(s.now().text).toBe('theirs')
  })
  it('shows what another client stored right behind what it published', async () => {
    const s = server('a')
    const publish: Ports['publish'] = async was => {
      const mine = await s.publish(was)
      s.other('theirs')
      return {...mine, etag: s.now().etag, definition: {...mine.definition, draft: s.now().definition.draft}}
    }
    const {session} = opened(s, storage(), {publish})
    expect(await session.publish()).toBe(false)
    expect(session.state).toMatchObject({busy: null, said: 'Published v1.', conflict: {text: 'theirs'}})
  })
  it('publishes what it stored, once', async () => {
    const s = server('a')
    const {model, session} = opened(s)
    type(model, 'b')
    expect(await session.publish()).toBe(true)
    expect(s.now()).toMatchObject({text: 'ab', definition: {published: 2, draft: null}})
    expect(await session.publish()).toBe(true)
    expect(s.stores).toEqual(['ab'])
  })
  it('offers what the browser kept, and applies it when asked', async () => {
    const s = server('a')
    const one = opened(s)
    type(one.model, 'b')
    vi.advanceTimersByTime(1000)
    const two = opened(s, one.disk)
    expect(two.model.text).toBe('a')
    expect(two.session.state.found).toMatchObject({text: 'ab', version: 1})
    expect(await two.session.save()).toBe(false)
    two.session.restore()
    expect(two.model.text).toBe('ab')
    expect(two.session.state).toMatchObject({found: null, conflict: null, dirty: true})
    two.model.undo()
    expect(two.model.text).toBe('a')
  })
  it('keeps nothing from the moment on at which all is undone', () => {
    const s = server('a')
    const one = opened(s)
    type(one.model, 'b')
    vi.advanceTimersByTime(1000)
    one.model.undo()
    expect(opened(s, one.disk).session.state.found).toBeNull()
  })
  it('shows both where the workflow was changed since', () => {
    const s = server('a')
    const one = opened(s)
    type(one.model, 'b')
    one.close()
    s.other('theirs')
    const two = opened(s, one.disk)
    two.session.restore()
    expect(two.session.state.conflict?.text).toBe('theirs')
    expect(two.model.text).toBe('ab')
    vi.advanceTimersByTime(1000)
    two.close()
    const three = opened(s, one.disk)
    expect(three.session.state.found).toMatchObject({text: 'ab', version: 1})
    three.session.restore()
    expect(three.session.state.conflict?.text).toBe('theirs')
    three.session.resolve('both')
    vi.advanceTimersByTime(1000)
    const four = opened(s, one.disk)
    four.session.restore()
    expect(four.session.state).toMatchObject({conflict: null, dirty: true})
  })
  it('keeps what was merged so far when the page is left, with the conflict', async () => {
    const s = server('a')
    const one = opened(s)
    type(one.model, 'b')
    s.other('theirs')
    expect(await one.session.save()).toBe(false)
    one.session.merging('ab and th')
    vi.advanceTimersByTime(1000)
    one.session.merging('ab and theirs')
    one.close()
    // Both texts are shown however often the editor is opened and left.
    for (let i = 0; i < 2; i++) {
      const two = opened(s, one.disk)
      two.session.restore()
      expect(two.model.text).toBe('ab and theirs')
      expect(two.session.state.conflict?.text).toBe('theirs')
      two.close()
    }
    const last = opened(s, one.disk)
    last.session.restore()
    last.session.resolve('both')
    last.close()
    const next = opened(s, one.disk)
    next.session.restore()
    expect(next.session.state.conflict).toBeNull()
    expect(next.model.text).toBe('both')
  })
  it('keeps nothing of a conflict that comes after the text was stored, until both are merged', async () => {
    const s = server('a')
    const publish: Ports['publish'] = was => {
      s.other('theirs')
      return s.publish(was)
    }
    const one = opened(s, storage(), {publish})
    type(one.model, 'b')
    expect(await one.session.publish()).toBe(false)
    expect(one.session.state).toMatchObject({conflict: {text: 'theirs'}, dirty: false, unsaved: false})
    one.session.keepNow()
    expect(opened(s, one.disk).session.state.found).toBeNull()
    one.session.merging('ab and theirs')
    expect(one.session.state).toMatchObject({dirty: false, unsaved: true})
    vi.advanceTimersByTime(1000)
    expect(opened(s, one.disk).session.state.found).toMatchObject({text: 'ab and theirs', version: 2})
    one.session.merging('ab')
    expect(one.session.state.unsaved).toBe(false)
    expect(opened(s, one.disk).session.state.found).toBeNull()
    one.session.merging('theirs, too')
    one.session.resolve('theirs')
    expect(one.session.state).toMatchObject({conflict: null, dirty: false, unsaved: false})
    expect(opened(s, one.disk).session.state.found).toBeNull()
  })
  it('forgets what is discarded or stored', async () => {
    const s = server('a')
    const one = opened(s)
    type(one.model, 'b')
    one.close()
    const two = opened(s, one.disk)
    two.session.discard()
    expect(opened(s, one.disk).session.state.found).toBeNull()
    type(two.model, 'c')
    await two.session.save()
    expect(opened(s, one.disk).session.state.found).toBeNull()
  })
  it('says where the browser keeps nothing', () => {
    const {model, session} = opened(server('a'), storage(true))
    type(model, 'b')
    vi.advanceTimersByTime(1000)
    expect(session.state).toMatchObject({kept: false, dirty: true})
  })
  it('keeps the text where storing fails', async () => {
    const s = server('a')
    const {model, session, disk} = opened(s, storage(), {store: () => Promise.reject(new Error('away'))})
    type(model, 'b')
    expect(await session.publish()).toBe(false)
    expect(session.state).toMatchObject({dirty: true, busy: null, error: new Error('away')})
    expect(opened(s, disk).session.state.found?.text).toBe('ab')
  })
  it('ignores kept texts that are none', () => {
    const disk = storage()
    for (const text of ['{', '1', '{"text": 1}', '{"text": "x", "etag": "e", "version": 1, "at": "never"}']) {
      disk.setItem('hocket-draft:default:letter', text)
      expect(opened(server('a'), disk).session.state.found).toBeNull()
    }
  })
})

describe('a workflow of which nothing is stored', () => {
  const first = () => {
    const stores: {etag: string; text: string}[] = []
    const ports: Ports = {
      read: async () => stored('of another client', 1),
      store: async (was, text) => {
        stores.push({etag: was.etag, text})
        return stored(text, 1)
      },
      publish: async was => was,
      drafts: localDrafts('default', 'letter', () => kept),
      now: () => new Date('2026-11-28T12:00:00Z'),
    }
    return {ports, stores}
  }
  let kept = storage()
  beforeEach(() => {
    kept = storage()
    localDrafts('default', 'letter', () => kept).keep({
      text: 'workflow: [',
      etag: '',
      version: null,
      at: '2026-11-28T11:00:00Z',
    })
  })

  it('is opened with the text that the browser keeps, and stored when it can be', async () => {
    const {ports, stores} = first()
    const session = new Session(new DocumentModel('workflow: ['), unstored('letter'), ports)
    const leave = session.open()
    expect(session.state).toMatchObject({dirty: true, unsaved: true, found: null, conflict: null})
    leave()
    expect(ports.drafts.read()?.text).toBe('workflow: [')
    session.open()
    session.model.setText('workflow: []', 'type')
    session.keepNow()
    expect(ports.drafts.read()).toMatchObject({text: 'workflow: []', etag: ''})
    expect(await session.save()).toBe(true)
    expect(stores).toEqual([{etag: '', text: 'workflow: []'}])
    expect(session.state).toMatchObject({dirty: false, said: 'Stored as draft v1.'})
    expect(ports.drafts.read()).toBe(null)
  })

  it('shows both texts where another client took the id first', async () => {
    const {ports} = first()
    const session = new Session(new DocumentModel('workflow: ['), unstored('letter'), {
      ...ports,
      store: async () => {
        throw conflict()
      },
    })
    session.open()
    expect(await session.save()).toBe(false)
    expect(session.state.conflict?.text).toBe('of another client')
    expect(ports.drafts.read()?.text).toBe('workflow: [')
  })
})
