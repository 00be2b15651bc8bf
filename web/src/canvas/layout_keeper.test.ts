import {expect, it, vi} from 'vitest'
import {keeper, onto} from './layout_keeper.ts'
import type {Layout} from './operations.ts'

const conflict = new Error('changed')
const isConflict = (err: unknown) => err === conflict
const at = (x: number) => ({a: {x, y: 0}})

it('stores the last of several moves, behind the one before', async () => {
  vi.useFakeTimers()
  try {
    const calls: string[] = []
    let n = 0
    const k = keeper(
      {etag: '0'},
      {
        store: async (was, nodes) => {
          calls.push(`${was.etag} ${nodes.a?.x}`)
          return {etag: String(++n)}
        },
        nodes: () => ({}),
        again: () => Promise.reject(new Error('not asked')),
        isConflict,
        failed: err => err && calls.push(String(err)),
      },
    )
    k.keep(at(1))
    k.keep(at(2))
    await vi.runAllTimersAsync()
    k.keep(at(3))
    k.flush()
    await vi.runAllTimersAsync()
    expect(calls).toEqual(['0 2', '1 3'])
  } finally {
    vi.useRealTimers()
  }
})

it('moves what was moved here where another client stored first, and tells other errors', async () => {
  const calls: string[] = []
  const told: unknown[] = []
  const k = keeper(
    {etag: 'old'},
    {
      store: async (was, nodes) => {
        calls.push(was.etag)
        if (was.etag === 'old') throw conflict
        if (nodes.a?.x === 9) throw new Error('offline')
        return {etag: 'mine'}
      },
      nodes: () => ({}),
      again: async () => ({etag: 'theirs'}),
      isConflict,
      failed: err => void (err && told.push(err)),
    },
  )
  k.keep(at(1))
  k.flush()
  await vi.waitFor(() => expect(calls).toEqual(['old', 'theirs']))
  k.keep(at(9))
  await new Promise(r => setTimeout(r))
  k.flush()
  await vi.waitFor(() => expect(told).toHaveLength(1))
  expect(calls).toEqual(['old', 'theirs', 'mine'])
})

it('leaves what another client moved where it is, with each move that follows', async () => {
  type Stored = {etag: number; nodes: Layout}
  const place = (x: number) => ({x, y: 0})
  let server: Stored = {etag: 1, nodes: {a: place(0), b: place(0)}}
  const k = keeper(server, {
    store: async (was, nodes) => {
      if (was.etag !== server.etag) throw conflict
      server = {etag: was.etag + 1, nodes}
      return server
    },
    nodes: s => s.nodes,
    again: async () => server,
    isConflict,
    failed: err => expect(err).toBeNull(),
  })
  const move = async (nodes: Layout, etag: number) => {
    k.keep(nodes)
    k.flush()
    await vi.waitFor(() => expect(server.etag).toBe(etag))
    await new Promise(r => setTimeout(r))
  }
  server = {etag: 2, nodes: {a: place(10), b: place(0)}}
  await move({a: place(0), b: place(5)}, 3)
  expect(server.nodes).toEqual({a: place(10), b: place(5)})
  await move({a: place(0), b: place(6)}, 4)
  expect(server.nodes).toEqual({a: place(10), b: place(6)})
  await move({a: place(0), b: place(0)}, 5)
  expect(server.nodes).toEqual({a: place(10), b: place(0)})
})

it('lays over the places of others only what was changed here', () => {
  const was = {a: {x: 1, y: 1}, b: {x: 2, y: 2}, c: {x: 3, y: 3}}
  const others = {a: {x: 10, y: 10}, b: {x: 2, y: 2}, c: {x: 3, y: 3}, new: {x: 4, y: 4}}
  expect(onto(others, was, {...was, b: {x: 7, y: 7}})).toEqual({...others, b: {x: 7, y: 7}})
  expect(onto(others, was, {a: was.a, b: was.b})).toEqual({a: others.a, b: others.b, new: others.new})
})
