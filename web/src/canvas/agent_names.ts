import {find, type Node, type Path} from '../doc/tree.ts'
import type {Canvas} from './document.ts'

// Keys of agents that list the ids of other agents.
const lists = ['subAgents', 'sub_agents', 'handoffs']

// Named is a position at which a document names an agent.
export type Named = {path: Path; id: string}

// namedAt returns the id at a path as a list of one, or an empty list if there is no id.
export const namedAt = (root: Node, path: Path): Named[] => {
  const at = find(root, path)
  return !at || at.children !== undefined || at.type === 'null' ? [] : [{path, id: String(at.value)}]
}

// namedIn returns the positions at which an agent of a document names others: the agents that it
// asks or hands over to.
export const namedIn = (root: Node, agent: Path): Named[] =>
  lists.flatMap(key =>
    (find(root, [...agent, key])?.children ?? []).flatMap((_, k) => namedAt(root, [...agent, key, k])),
  )

// namesOf returns all positions at which a document names agents: in the nodes of all graphs, and
// in the agents.
export function namesOf({root}: Pick<Canvas, 'root'>): Named[] {
  const items = (path: Path) => (find(root, path)?.children ?? []).map((_, i) => [...path, i])
  const graphs: Path[] = [[], ...items(['branches'])]
  const nodes = graphs
    .flatMap(g => items([...g, 'nodes']))
    .flatMap(n => ['config', 'parameters'].flatMap(key => namedAt(root, [...n, key, 'agentId'])))
  return [...nodes, ...items(['agents']).flatMap(a => namedIn(root, a))]
}

// takenAgents returns the ids that a new agent must not have: the ids of the document's agents, and
// ids that it names without defining them, which belong to agents of the catalog.
export const takenAgents = (c: Pick<Canvas, 'root' | 'agents'>): Set<string> =>
  new Set([...c.agents.map(a => a.id), ...namesOf(c).map(x => x.id)])
