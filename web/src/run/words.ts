import type {DefNode} from './types.ts'

// words are the names that documents use for kinds of nodes, by format; '' applies to all other
// formats. They are the words of the API (workflow.Kind.In).
const words: Record<string, Record<string, string>> = {
  decide: {'': 'condition', canvas: 'if', graph: 'decision'},
  wait: {'': 'approval', routes: 'human', graph: 'wait'},
  fork: {'': 'parallel'},
  subflow: {'': 'subgraph'},
  exec: {'': 'tool_executor'},
}

// kindWord returns the word that documents of a format use for a kind.
export function kindWord(kind: string, format: string): string {
  const of = words[kind]
  return of?.[format] ?? of?.[''] ?? kind
}

// nodeWord returns the word for a node: waits are named after what they wait for.
export function nodeWord(node: DefNode, format: string): string {
  const word = kindWord(node.kind, format)
  if (node.kind !== 'wait' || !node.wait) return word
  if (node.wait.kind === 'signal') return 'signal'
  return node.wait.kind === 'question' && word === 'approval' ? 'ask' : word
}

// titleOf returns the name of a node or an agent.
export const titleOf = (n: {id: string; name?: string}): string => n.name || n.id
