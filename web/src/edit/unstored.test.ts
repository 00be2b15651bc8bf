import {describe, expect, it} from 'vitest'
import {localDrafts, unstoredIn} from './local_draft.ts'
import {canBeID, isUnstored, keepUnstored, ownID, unstored} from './unstored.ts'

const storage = (full = false) => {
  const kept = new Map<string, string>()
  return {
    get length() {
      return kept.size
    },
    key: (n: number) => [...kept.keys()][n] ?? null,
    getItem: (k: string) => kept.get(k) ?? null,
    setItem: (k: string, v: string) => {
      if (full) throw new Error('full')
      kept.set(k, v)
    },
    removeItem: (k: string) => void kept.delete(k),
  }
}

const now = new Date('2026-11-28T12:00:00Z')

describe('a workflow that is not stored', () => {
  it('is told from one that is stored', () => {
    expect(isUnstored(unstored('letter'))).toBe(true)
    const {definition} = unstored('letter')
    expect(isUnstored({...unstored('letter'), etag: '"1"'})).toBe(false)
    expect(isUnstored({...unstored('letter'), definition: {...definition, version: 1}})).toBe(false)
  })

  it('is kept by the browser, and listed until it is dropped', () => {
    const s = storage()
    const drafts = (id: string, namespace = 'default') => localDrafts(namespace, id, () => s)
    expect(keepUnstored(drafts('letter'), 'workflow: [', now)).toBe('kept')
    expect(keepUnstored(drafts('a:b'), 'x', now)).toBe('kept')
    expect(keepUnstored(drafts('other', 'team'), 'x', now)).toBe('kept')
    drafts('stored').keep({text: 'y', etag: '"1"', version: 1, at: now.toISOString()})
    s.setItem('theme', 'dark')
    s.setItem('hocket-draft:default:bad', '{')
    expect(unstoredIn('default', () => s)).toEqual(['a:b', 'letter'])
    drafts('letter').drop()
    expect(unstoredIn('default', () => s)).toEqual(['a:b'])
    expect(
      unstoredIn('default', () => {
        throw new Error('no storage')
      }),
    ).toEqual([])
  })

  it('takes the place of no other text', () => {
    const s = storage()
    const drafts = localDrafts('default', 'letter', () => s)
    drafts.keep({text: 'typed before', etag: '"1"', version: 1, at: now.toISOString()})
    expect(keepUnstored(drafts, 'new', now)).toBe('taken')
    expect(drafts.read()?.text).toBe('typed before')
    expect(keepUnstored(drafts, 'typed before', now)).toBe('kept')
    expect(
      keepUnstored(
        localDrafts('default', 'letter', () => storage(true)),
        'new',
        now,
      ),
    ).toBe('full')
  })
})

describe('the id that a text names', () => {
  it.each([
    ['id: letter\nworkflow: [', 'letter'],
    ['# x\nid:  "my letter" # so\n', 'my letter'],
    ["name: x\r\nid: 'a'\r\n", 'a'],
    ['workflow:\n  - {id: ok}\n  id: no\n', ''],
    ['{"id": "canvas-1", "nodes": []}', 'canvas-1'],
    ['{"nodes": [{"id": "start"}]}', ''],
    ['{"id": 5}', ''],
    ['{"id": "x", ', ''],
    ['', ''],
  ])('of %j is %j', (text, id) => expect(ownID(text)).toBe(id))
})

describe('an id', () => {
  it.each(['letter', 'grüße 👩', 'a.b-c', 'x'.repeat(200)])('can be %j', id => expect(canBeID(id)).toBe(true))
  it.each(['', '-a', '.a', 'a/b', 'a\\b', ' a', 'a\u0007', 'a\u2028b', 'ü'.repeat(101)])('cannot be %j', id =>
    expect(canBeID(id)).toBe(false),
  )
})
