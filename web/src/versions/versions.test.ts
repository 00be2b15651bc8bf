import {describe, expect, it, vi} from 'vitest'
import type {Version} from '../edit/stored.ts'
import {match, pairOf} from './versions.ts'

vi.hoisted(() => {
  vi.stubGlobal('document', {querySelector: () => null})
  vi.stubGlobal('window', {location: {origin: 'http://127.0.0.1'}})
})

const version = (number: number, more: Partial<Version> = {}) =>
  ({number, published: false, draft: false, createdAt: new Date(number * 60_000).toISOString(), ...more}) as Version

describe('versions', () => {
  const all = [version(4, {draft: true}), version(3), version(2, {published: true}), version(1)]
  it.each([
    [all, 0, 0, [2, 4]],
    [all, 1, 3, [1, 3]],
    [all, 9, 3, [2, 3]],
    [[version(2, {published: true}), version(1)], 0, 0, [1, 2]],
    [[version(1)], 0, 0, [1, 1]],
    [[], 0, 0, [0, 0]],
  ])('compare what differs', (list, a, b, want) =>
    expect(pairOf(list as Version[], a as number, b as number)).toEqual(want),
  )
  it('have who stored them', () => {
    const record = (at: number, actor: string, more = {}) => ({
      at: new Date(at).toISOString(),
      actor,
      channel: 'http',
      action: 'PUT /api/v1/workflows/{id}',
      target: 'letter',
      outcome: 'ok',
      ...more,
    })
    const records = [
      record(60_100, 'ann'),
      record(60_020, 'other', {target: 'another'}),
      record(60_010, 'late', {outcome: 'conflict'}),
      record(120_005, 'publisher', {action: 'POST /api/v1/workflows/{id}/publish'}),
      record(119_000, 'bob'),
      record(190_000, 'far'),
    ]
    expect([...match('letter', [version(3), version(2), version(1)], records)]).toEqual([
      [2, {name: 'bob', channel: 'http'}],
      [1, {name: 'ann', channel: 'http'}],
    ])
  })
})
