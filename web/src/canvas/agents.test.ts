import {describe, expect, it, vi} from 'vitest'
import {allAgents, knownAgents, unread, whereIs} from './agents.ts'
import {readCanvas, roundsShape} from './document.ts'

vi.hoisted(() => {
  vi.stubGlobal('document', {querySelector: () => null, documentElement: {style: {}}})
  vi.stubGlobal('window', {location: {origin: 'http://127.0.0.1'}})
})

const c = readCanvas('{"agents": [{"id": "x", "name": "X"}], "nodes": [], "edges": []}', roundsShape(null))
if ('why' in c) throw new Error(c.why)

const last = {id: 'last', name: ''}
const pages: Record<string, {items: {id: string; name: string}[]; next: string}> = {
  '': {
    items: [
      {id: 'x', name: 'Other'},
      {id: 'y', name: 'Y'},
    ],
    next: 'two',
  },
  two: {items: [], next: 'three'},
  three: {items: [last], next: ''},
}

describe('the agents of the catalog', () => {
  it('are read to the last page', async () => {
    const agents = await allAgents(cursor => Promise.resolve(pages[cursor]!))
    expect(agents.map(a => a.id)).toEqual(['x', 'y', 'last'])
    expect(knownAgents(c, agents).map(a => [a.name, a.from])).toEqual([
      ['X', 'the document'],
      ['Y', 'the catalog'],
      ['last', 'the catalog'],
    ])
    expect(whereIs(c, {agents, complete: true}, 'last').word).toBe('It is defined in the catalog.')
  })
  it('are not there where a page could not be read', async () => {
    const failed = allAgents(cursor =>
      cursor === 'three' ? Promise.reject(new Error('away')) : Promise.resolve(pages[cursor]!),
    )
    await expect(failed).rejects.toThrow('away')
  })
  it('lack one only where all were read', () => {
    expect(whereIs(c, unread, 'z')).toEqual({
      word: 'The document does not define it, and the agents of the catalog are not known.',
      missing: false,
    })
    expect(whereIs(c, {agents: [], complete: true}, 'z')).toEqual({
      word: 'Neither the document nor the catalog has it.',
      missing: true,
    })
    expect(whereIs(c, unread, 'x')).toMatchObject({word: expect.stringContaining('this document'), missing: false})
    expect(whereIs(c, unread, '').missing).toBe(false)
  })
})
