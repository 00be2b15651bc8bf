import fc from 'fast-check'
import {describe, expect, it} from 'vitest'
import {apply} from '../doc/edit.ts'
import {addBranch, begin, removeBranch, renameBranch} from './branches.ts'
import {copyText, paste} from './clipboard.ts'
import {type Canvas, readCanvas} from './document.ts'
import {nameAgent, renameAgent} from './document_agents.ts'
import {graphsOf, shapeOf} from './graphs.ts'
import {flatOf, movedPlaces, placesIn, storedOf, withPlaces} from './layout_keys.ts'
import {addNode, connect, isRefused, type Outcome, reconnect, remove, rename, type Step, setAt} from './operations.ts'
import {refusal, targetsOf} from './rules.ts'
import {beginning} from './rules_rounds.ts'

const draw = (text: string, branch = ''): Canvas => {
  const c = readCanvas(text, shapeOf('rounds', graphsOf(text, 'rounds').find(g => g.key === branch)!))
  if ('why' in c) throw new Error(c.why)
  return c
}
const done = (o: Outcome): Step => {
  if (isRefused(o)) throw new Error(o.refused.reason)
  return o
}
const edited = (text: string, o: Outcome): string => apply(text, done(o).changes)
const empty = '{\n  "name": "Talk",\n  "nodes": [],\n  "edges": []\n}\n'
const origin = {x: 0, y: 0}

const two = (more = ''): string =>
  '{"nodes": [{"id": "a", "type": "agent", "config": {"agentId": "x"}}, ' +
  '{"id": "b", "type": "agent", "config": {"agentId": "x"}}], ' +
  `"edges": [{"id": "e1", "from": "a", "to": "b"}]${more}}`

describe('an empty rounds document', () => {
  it('becomes two agents that speak in turn', () => {
    let text = empty
    text = edited(text, addNode(draw(text), {}, 'agent', origin))
    text = edited(text, addNode(draw(text), {}, 'agent', origin, {from: 'agent', handle: 'output'}))
    const back = {from: 'agent2', handle: 'output', to: 'agent'}
    expect(refusal(draw(text), back)).toMatchObject({rule: 'S1-12', fix: 'rounds'})
    text = edited(text, connect(draw(text), back, true))
    expect(JSON.parse(text)).toEqual({
      name: 'Talk',
      nodes: [
        {id: 'agent', type: 'agent', config: {agentId: 'agent'}},
        {id: 'agent2', type: 'agent', config: {agentId: 'agent2'}},
      ],
      edges: [
        {id: 'e1', from: 'agent', to: 'agent2'},
        {id: 'e2', from: 'agent2', to: 'agent'},
      ],
      agents: [
        {id: 'agent', name: 'Agent', systemPrompt: ''},
        {id: 'agent2', name: 'Agent 2', systemPrompt: ''},
      ],
      maxRounds: 10,
    })
  })
  it('has no kinds that the format does not have', () => {
    expect(addNode(draw(empty), {}, 'if', origin)).toMatchObject({refused: {rule: 'S1-6'}})
  })
  it('gets lists that are missing', () => {
    const text = edited(
      '{"branches": [{"id": "b", "nodes": []}]}',
      addNode(draw('{"branches": [{"id": "b", "nodes": []}]}'), {}, 'tool', origin),
    )
    expect(JSON.parse(text).nodes).toHaveLength(1)
  })
})

// firstCycle walks on from the end of a path and returns the first path back to a node that it passed; of several
// edges with one source and handle, the first counts.
function firstCycle(edges: readonly {from: string; to: string; port: string}[], path: string[]): string[] | null {
  const out = edges.filter(
    (e, i) => e.from === path.at(-1) && edges.findIndex(x => x.from === e.from && x.port === e.port) === i,
  )
  for (const {to} of out) {
    const found = path.includes(to) ? [...path.slice(path.indexOf(to)), to] : firstCycle(edges, [...path, to])
    if (found) return found
  }
  return null
}

describe('the rules of rounds documents', () => {
  it('S1-4: the first edge alone is followed; it can be led elsewhere instead', () => {
    const text = two(', "maxRounds": 1')
    const link = {from: 'a', handle: 'output', to: 'a'}
    expect(refusal(draw(text), link)).toMatchObject({rule: 'S1-4', fix: 'instead'})
    expect(JSON.parse(edited(text, connect(draw(text), link, true))).edges).toEqual([{id: 'e1', from: 'a', to: 'a'}])
  })
  it('S1-4: a node that is added behind another one comes between it and the next', () => {
    const text = two()
    expect(
      JSON.parse(edited(text, addNode(draw(text), {}, 'set', origin, {from: 'a', handle: 'output'}))).edges,
    ).toEqual([
      {id: 'e1', from: 'a', to: 'set'},
      {id: 'e2', from: 'set', to: 'b'},
    ])
  })
  it('S1-5: ends must be there', () => {
    expect(refusal(draw(two()), {from: 'b', handle: 'output', to: 'ghost'})?.rule).toBe('S1-5')
    expect(refusal(draw(two()), {from: 'ghost', handle: 'output', to: 'a'})?.rule).toBe('S1-5')
  })
  it('S1-8: ids of nodes are used once in a graph', () => {
    expect(rename(draw(two()), {}, 0, 'b')).toMatchObject({refused: {rule: 'S1-8'}})
  })
  it('S1-12: a cycle that a run does not come to is none', () => {
    const text =
      '{"nodes": [{"id": "a", "type": "set"}, {"id": "b", "type": "set"}, {"id": "c", "type": "set"}], ' +
      '"edges": [{"from": "b", "to": "c"}]}'
    expect(refusal(draw(text), {from: 'c', handle: 'output', to: 'b'})).toBe(null)
    const ring = edited(text, connect(draw(text), {from: 'c', handle: 'output', to: 'b'}))
    expect(refusal(draw(ring), {from: 'a', handle: 'output', to: 'b'})).toMatchObject({
      rule: 'S1-12',
      reason: expect.stringContaining('b -> c -> b'),
    })
  })
  it('S1-12: cycles are told for all targets as for each of them', () => {
    const ways = fc.array(fc.tuple(fc.nat(7), fc.nat(7), fc.constantFrom('', 'error')), {maxLength: 10})
    fc.assert(
      fc.property(ways, fc.nat(7), fc.constantFrom('output', 'error'), (links, from, handle) => {
        const text = JSON.stringify({
          nodes: Array.from({length: 8}, (_, i) => ({id: `n${i}`, type: 'set'})),
          edges: links.map(([a, b, sourceHandle]) => ({
            from: `n${a}`,
            to: `n${b}`,
            ...(sourceHandle ? {sourceHandle} : {}),
          })),
        })
        const c = draw(text)
        const path = [beginning(c)!]
        for (const {id, refused} of targetsOf(c, `n${from}`, handle)) {
          expect(refused).toEqual(refusal(c, {from: `n${from}`, handle, to: id}))
          if (refused && refused.rule !== 'S1-12') continue
          const added = {from: `n${from}`, to: id, port: handle}
          const cycle = firstCycle(c.edges, path) ? null : firstCycle([...c.edges, added], path)
          expect(refused?.reason ?? null).toBe(
            cycle && `The cycle ${cycle.join(' -> ')} never ends: maxRounds must be a positive number.`,
          )
        }
      }),
    )
  })
  it('S1-12: cycles of long graphs are found for each target', () => {
    const count = 4000
    const text = JSON.stringify({
      nodes: Array.from({length: count}, (_, i) => ({id: `n${i}`, type: 'set'})),
      edges: Array.from({length: count - 1}, (_, i) => ({from: `n${i}`, to: `n${i + 1}`})),
    })
    const targets = targetsOf(draw(text), `n${count - 1}`, 'output')
    expect(targets.filter(t => t.refused?.rule === 'S1-12')).toHaveLength(count)
  })
  it('X-131: a way out must be one of the node', () => {
    expect(refusal(draw(two()), {from: 'a', handle: 'reject', to: 'b'})?.rule).toBe('X-131')
  })
  it('S1-20: ids of branches are used once, and the main graph stays', () => {
    const text = two(', "branches": [{"id": "x", "nodes": []}, {"id": "y", "nodes": []}]')
    const graphs = graphsOf(text, 'rounds')
    expect(renameBranch(draw(text), graphs, graphs[1]!, 'y')).toMatchObject({refused: {rule: 'S1-20'}})
    expect(renameBranch(draw(text), graphs, graphs[1]!, ' ')).toMatchObject({refused: {rule: 'S1-20'}})
    expect(removeBranch(draw(text), graphs[0]!)).toMatchObject({refused: {rule: 'S1-20'}})
  })
})

describe('names that editors write', () => {
  const text =
    '{"nodes": [{"id": "a", "type": "agent", "parameters": {"agentId": "x"}}, ' +
    '{"id": "b", "type": "set", "parameters": {}}], "edges": [{"source": "a", "target": "b"}]}'
  it('S1-1: are read, and written where all others are', () => {
    const c = draw(text)
    expect(c.edges).toMatchObject([{from: 'a', to: 'b', fromKey: 'source', toKey: 'target'}])
    expect(c.nodes[0]).toMatchObject({dataKey: 'parameters', data: {agentId: 'x'}})
    const now = JSON.parse(edited(text, addNode(c, {}, 'set', origin, {from: 'b', handle: 'output'})))
    expect(now.nodes[2]).toEqual({id: 'set', type: 'set', parameters: {values: {}}})
    expect(now.edges[1]).toMatchObject({source: 'b', target: 'set'})
    expect(JSON.parse(edited(text, reconnect(c, 0, {from: 'a', handle: 'output', to: 'a'}, true))).edges).toEqual([
      {source: 'a', target: 'a'},
    ])
  })
  it('lead to the agent in the one that names it', () => {
    const both = '{"nodes": [{"id": "a", "type": "agent", "config": {}, "parameters": {"agentId": "x"}}]}'
    expect(draw(both).nodes[0]?.dataKey).toBe('parameters')
  })
})

describe('branches', () => {
  it('are added, renamed and deleted', () => {
    let text = empty
    const added = addBranch(draw(text), graphsOf(text, 'rounds'), 'Morning report')
    expect(added.show).toBe('morning-report')
    text = edited(text, added)
    expect(JSON.parse(text).branches).toEqual([
      {id: 'morning-report', name: 'Morning report', executionMode: 'one_time', nodes: [], edges: []},
    ])
    const [, branch] = graphsOf(text, 'rounds')
    const renamed = renameBranch(draw(text, 'morning-report'), graphsOf(text, 'rounds'), branch!, 'm')
    expect(renamed.moved).toEqual({from: 'morning-report', to: 'm'})
    text = edited(text, renamed)
    const gone = removeBranch(draw(text, 'm'), graphsOf(text, 'rounds')[1]!)
    expect(JSON.parse(edited(text, gone)).branches).toEqual([])
  })
  it('without an id of their own are drawn by their place', () => {
    const text = '{"branches": [{"id": "x"}, {"id": "x"}, {}]}'
    expect(graphsOf(text, 'rounds').map(g => g.key)).toEqual(['', 'x', '#1', '#2'])
  })
  it('have steps of their own: renaming one changes no expression of another graph', () => {
    const set = (id: string) => `{"id": "${id}", "type": "set", "config": {"values": {"v": "{{ $steps.n.output }}"}}}`
    const text =
      `{"nodes": [{"id": "n", "type": "set"}, ${set('m')}], "edges": [], ` +
      `"branches": [{"id": "b", "nodes": [{"id": "n", "type": "set"}, ${set('k')}]}]}`
    const main = JSON.parse(edited(text, rename(draw(text), {}, 0, 'first')))
    expect([main.nodes[1].config.values.v, main.branches[0].nodes[1].config.values.v]).toEqual([
      '{{ $steps.first.output }}',
      '{{ $steps.n.output }}',
    ])
    const branch = JSON.parse(edited(text, rename(draw(text, 'b'), {}, 0, 'first')))
    expect([branch.nodes[1].config.values.v, branch.branches[0].nodes[1].config.values.v]).toEqual([
      '{{ $steps.n.output }}',
      '{{ $steps.first.output }}',
    ])
  })
})

it('S1-2: runs begin with the node that is moved to the beginning', () => {
  expect(draw(edited(two(), begin(draw(two()), 1))).nodes.map(n => n.id)).toEqual(['b', 'a'])
  const at = (nodes: string, edges: string) =>
    beginning(
      draw(
        JSON.stringify({
          nodes: [...nodes].map(id => ({id, type: 'agent', config: {agentId: id}})),
          edges: edges.split(' ').map(e => ({from: e[0], to: e[1]})),
        }),
      ),
    )
  expect([at('ba', 'ab'), at('ba', 'ab ba'), at('bac', 'ab'), at('bac', 'ab ac'), at('bac', 'aa ab ac')]).toEqual([
    'a',
    'b',
    'b',
    'a',
    'a',
  ])
  expect([at('ba', 'xb'), at('ba', 'bb'), at('abc', 'ab cb')]).toEqual(['b', 'b', 'a'])
})

describe('agents of a document', () => {
  const text = two(
    ', "agents": [{"id": "x", "name": "X"}, {"id": "y", "handoffs": ["x"]}], ' +
      '"branches": [{"id": "b", "nodes": [{"id": "n", "type": "agent", "config": {"agentId": "x"}}]}]',
  )
  it('are renamed in all graphs and agents that name them', () => {
    const now = JSON.parse(edited(text, renameAgent(draw(text), 0, 'z')))
    expect([
      now.agents[0].id,
      now.agents[1].handoffs[0],
      now.nodes[0].config.agentId,
      now.branches[0].nodes[0].config.agentId,
    ]).toEqual(['z', 'z', 'z', 'z'])
    expect(renameAgent(draw(text), 0, 'y')).toMatchObject({refused: {rule: 'S1-6'}})
  })
  it('are made for a node', () => {
    const now = JSON.parse(edited(text, nameAgent(draw(text), 1, null)))
    expect([now.nodes[1].config.agentId, now.agents[2].id]).toEqual(['b', 'b'])
  })
  it('get no id that the document names and does not define: it is of the catalog', () => {
    const named = two(
      ', "branches": [{"id": "b", "nodes": [{"id": "n", "type": "agent", "parameters": {"agentId": "agent"}}, ' +
        '{"id": "m", "type": "agent", "config": {"agentId": "b"}}]}]',
    )
    const added = JSON.parse(edited(named, addNode(draw(named), {}, 'agent', origin)))
    expect([added.nodes[2].config.agentId, added.agents[0].id]).toEqual(['agent2', 'agent2'])
    const made = JSON.parse(edited(named, nameAgent(draw(named), 1, null)))
    expect([made.nodes[1].config.agentId, made.agents[0].id]).toEqual(['b2', 'b2'])
    const asked = two(', "agents": [{"id": "y", "handoffs": ["agent"]}, {"id": "z"}]')
    expect(JSON.parse(edited(asked, addNode(draw(asked), {}, 'agent', origin))).agents[2].id).toBe('agent2')
    for (const id of ['x', 'agent'])
      expect(renameAgent(draw(asked), 1, id)).toMatchObject({
        refused: {rule: 'S1-6', reason: expect.stringContaining('does not define')},
      })
  })
  it('go with the nodes that are copied into another workflow', () => {
    const copied = copyText(draw(text), {}, [0, 1])
    const now = JSON.parse(edited(empty, paste(draw(empty), {}, copied)))
    expect([now.agents, now.nodes.length, now.edges.length]).toEqual([[{id: 'x', name: 'X'}], 2, 1])
  })
  it('are brought under another id where the workflow has another one of theirs, and not where it has the same', () => {
    const copied = copyText(draw(text), {}, [0, 1])
    const pasted = (other: string) => JSON.parse(edited(other, paste(draw(other), {}, copied)))
    const same = pasted(two(', "agents": [{"name": "X", "id":"x"}]'))
    expect(same.agents).toEqual([{id: 'x', name: 'X'}])
    expect(same.nodes.map((n: {config: {agentId: string}}) => n.config.agentId)).toEqual(['x', 'x', 'x', 'x'])
    const other = pasted(two(', "agents": [{"id": "x", "name": "Another"}]'))
    expect(other.agents).toEqual([
      {id: 'x', name: 'Another'},
      {id: 'x2', name: 'X'},
    ])
    expect(other.nodes.map((n: {config: {agentId: string}}) => n.config.agentId)).toEqual(['x', 'x', 'x2', 'x2'])
    // Agent x of this document is an agent of the catalog; a node of a branch runs its agent x2.
    const catalog = pasted(
      two(', "branches": [{"id": "b", "nodes": [{"id": "n", "type": "agent", "parameters": {"agentId": "x2"}}]}]'),
    )
    expect(catalog.agents).toEqual([{id: 'x3', name: 'X'}])
    expect(catalog.nodes.map((n: {config: {agentId: string}}) => n.config.agentId)).toEqual(['x', 'x', 'x3', 'x3'])
  })
  it('are brought with those that they ask, which may have other ids, too', () => {
    const asking = two(
      ', "agents": [{"id": "x", "handoffs": ["y"]}, {"id": "y", "n": 1.0, "subAgents": ["x"]}, {"id": "z"}]',
    )
    const copied = copyText(draw(asking), {}, [0])
    expect(JSON.parse(copied).agents.map((a: {id: string}) => a.id)).toEqual(['x', 'y'])
    const other = '{"agents": [{"id": "x", "handoffs": ["y"]}, {"id": "y", "n": 1}], "nodes": [], "edges": []}'
    const now = JSON.parse(edited(other, paste(draw(other), {}, copied)))
    expect(now.agents.slice(2)).toEqual([
      {id: 'x2', handoffs: ['y2']},
      {id: 'y2', n: 1, subAgents: ['x2']},
    ])
    expect(now.nodes[0].config.agentId).toBe('x2')
  })
  it('nodes of a canvas document are refused with the reason', () => {
    const canvas = '{"nodes": [{"id": "s", "type": "start"}], "connections": []}'
    expect(paste(draw(empty), {}, canvas)).toMatchObject({
      refused: {reason: expect.stringContaining('nodes of a canvas document')},
    })
  })
})

it('what is emptied goes with the objects around it that the form made', () => {
  const c = draw(two())
  const put = edited(two(), setAt(c, ['nodes', 0, 'config'], ['retry', 'backoff', 'type'], 'fixed'))
  expect(JSON.parse(put).nodes[0].config.retry).toEqual({backoff: {type: 'fixed'}})
  expect(edited(put, setAt(draw(put), ['nodes', 0, 'config'], ['retry', 'backoff', 'type'], undefined))).toBe(two())
  expect(JSON.parse(edited(two(), setAt(c, [], ['toolsets', 0], {type: 'fetch'}))).toolsets).toEqual([{type: 'fetch'}])
  expect(remove(c, {}, [0], [])).toMatchObject({select: []})
})

describe('places of the nodes of all graphs', () => {
  const point = fc.record({x: fc.integer({min: -1000, max: 1000}), y: fc.integer({min: -1000, max: 1000})})
  const word = fc.stringMatching(/^[a-z]{1,4}$/)
  const places = fc.dictionary(word, point)
  it('are stored by graph, and come back', () => {
    fc.assert(
      fc.property(
        places,
        fc.dictionary(word, fc.dictionary(word, point, {minKeys: 1}), {minKeys: 1}),
        (nodes, branches) => {
          const flat = flatOf({nodes, branches})
          expect(storedOf(flat)).toEqual({nodes, branches})
          for (const [b, own] of Object.entries(branches)) expect(placesIn(flat, b)).toEqual(own)
          expect(placesIn(flat, '')).toEqual(nodes)
        },
      ),
    )
  })
  it('move with the branch, and go with it', () => {
    const flat = withPlaces(withPlaces({n: {x: 1, y: 1}}, 'b', {n: {x: 2, y: 2}}), 'c', {n: {x: 3, y: 3}})
    expect(storedOf(movedPlaces(flat, 'b', 'z'))).toEqual({
      nodes: {n: {x: 1, y: 1}},
      branches: {c: {n: {x: 3, y: 3}}, z: {n: {x: 2, y: 2}}},
    })
    expect(storedOf(movedPlaces(flat, 'b', null))).toEqual({nodes: {n: {x: 1, y: 1}}, branches: {c: {n: {x: 3, y: 3}}}})
  })
})
