import {find, type Node, type Path} from '../doc/tree.ts'
import type {Canvas} from './document.ts'

// Keys of agents with lists of ids of others.
const lists = ['subAgents', 'sub_agents', 'handoffs']

// Named is a place at which a document names an agent.
export type Named = {path: Path; id: string}

// namedAt gives the id at a place, in a list of one; none where no id is there.
export const namedAt = (root: Node, path: Path): Named[] => {
  const at = find(root, path)
  return !at || at.children !== undefined || at.type === 'null' ? [] : [{path, id: String(at.value)}]
}

// namedIn gives the places at which an agent of a document names others: those it asks or hands over to.
export const namedIn = (root: Node, agent: Path): Named[] =>
  lists.flatMap(key =>
    (find(root, [...agent, key])?.children ?? []).flatMap((_, k) => namedAt(root, [...agent, key, k])),
  )

// namesOf gives all places at which a document names agents: the nodes of all graphs, and the agents.
export function namesOf({root}: Pick<Canvas, 'root'>): Named[] {
  const items = (path: Path) => (find(root, path)?.children ?? []).map((_, i) => [...path, i])
  const graphs: Path[] = [[], ...items(['branches'])]
  const nodes = graphs
    .flatMap(g => items([...g, 'nodes']))
    .flatMap(n => ['config', 'parameters'].flatMap(key => namedAt(root, [...n, key, 'agentId'])))
  return [...nodes, ...items(['agents']).flatMap(a => namedIn(root, a))]
}

// takenAgents gives the ids that a new agent must not have: those of the document's agents, and those that it names without defining them, which are agents of the catalog.
export const takenAgents = (c: Pick<Canvas, 'root' | 'agents'>): Set<string> =>
  new Set([...c.agents.map(a => a.id), ...namesOf(c).map(x => x.id)])
