// This module builds documents of each format that have a payload in every string field that the
// reader accepts.
import {check} from './lib.mjs'

const agent = {
  name: 'Writer',
  description: 'writes',
  model: 'openai/m',
  instruction: 'Write.',
  welcome_message: 'Hello',
  commands: {c: {description: 'a', instruction: 'b'}, d: 'text'},
  structured_output: {
    name: 'verdict',
    description: 'says',
    schema: {
      type: 'object',
      title: 't',
      description: 'd',
      properties: {good: {type: 'boolean', title: 't', description: 'd'}},
    },
  },
  compaction: {model: 'openai/m', pin: ['first']},
  fallback: {models: ['openai/n'], cooldown: '1m'},
  toolsets: [{type: 'think', instruction: 'think', name: 'thoughts', tools: ['think']}],
  permissions: {allow: ['think'], ask: ['think:thought=other'], deny: ['think:thought=third'], edit: ['think']},
}
const drawnAgent = {
  agentName: 'Writer',
  description: 'writes',
  model: 'openai/m',
  systemPrompt: 'Write.',
  userPrompt: 'Now',
  welcomeMessage: 'Hello',
  commands: agent.commands,
  structuredOutput: agent.structured_output,
  reasoningEffort: 'low',
  params: {stop: ['END']},
}
const inputs = {
  topic: {type: 'string', title: 'Topic', description: 'what', pattern: '.*'},
  kind: {type: 'string', enum: ['a', 'b'], title: 'Kind', default: 'a'},
}
const form = {
  type: 'object',
  title: 't',
  description: 'd',
  properties: {n: {type: 'string', title: 'How many', description: 'd', enum: ['a', 'b'], default: 'a'}},
}
const shared = {description: 'd', labels: {team: 'news'}}

// skeletons have a value in each string field that a user can write. Fields that name a part of the
// document, a kind or a time keep their value if the reader requires it.
const skeletons = {
  steps: {
    metadata: {author: 'a', description: 'd', license: 'l', readme: 'r', version: 'v'},
    labels: shared.labels,
    inputs,
    agents: {writer: agent},
    workflow: [
      {id: 'write', type: 'agent', name: 'writer', if: 'true', retry: {max_attempts: 2, on: ['timeout']}},
      {id: 'tool', type: 'tool', tool: 'think', args: {thought: 'Pay 5'}},
      {id: 'set', type: 'set', values: {text: 'one', list: ['two', {three: 'four'}]}},
      {id: 'ok', type: 'approval', prompt: 'Send it?', roles: ['boss'], deadline: '2d'},
      {id: 'ask', type: 'ask', prompt: 'How many?', schema: form},
      {id: 'pick', type: 'ask', prompt: 'Which?', options: ['this', 'that']},
      {id: 'end', type: 'end', status: 'failed', message: 'it is so'},
    ],
  },
  canvas: {
    name: 'Drawn',
    ...shared,
    inputs,
    nodes: [
      {id: 's', type: 'start', data: {initialInput: 'bees'}},
      {id: 'w', type: 'agent', data: drawnAgent},
      {id: 'q', type: 'if', data: {conditions: [{operator: 'contains', value: 'dear'}]}},
      {id: 'ok', type: 'approval', data: {prompt: 'Send it?', message: 'm', description: 'd', roles: ['boss']}},
      {id: 't', type: 'tool', data: {tool: 'think', args: {thought: 'Pay 5'}}},
      {id: 'v', type: 'set', data: {values: {text: 'one'}}},
      {id: 'k', type: 'ask', data: {prompt: 'How many?', schema: form}},
    ],
    connections: [
      {id: 'e1', source: 's', target: 'w', label: 'first'},
      {id: 'e2', source: 'w', target: 'q', label: 'l'},
      {id: 'e3', source: 'q', target: 'ok', sourceHandle: 'condition-0', label: 'l'},
      {id: 'e4', source: 'ok', target: 't', sourceHandle: 'approve', label: 'l'},
      {id: 'e5', source: 't', target: 'v', label: 'l'},
      {id: 'e6', source: 'v', target: 'k', label: 'l'},
    ],
  },
  rounds: {
    name: 'Rounds',
    ...shared,
    turnInstruction: 'Go on.',
    agents: [{id: 'a', ...drawnAgent, agentName: undefined, userPrompt: undefined, name: 'Writer'}],
    branches: [
      {
        id: 'main',
        name: 'Main',
        description: 'd',
        labels: shared.labels,
        turnInstruction: 'Write.',
        nodes: [
          {id: 'one', name: 'One', type: 'agent', config: {agentId: 'a'}},
          {id: 'two', name: 'Two', type: 'agent', config: {agentId: 'a'}},
        ],
        edges: [{id: 'e', from: 'one', to: 'two', label: 'l'}],
      },
    ],
  },
  routes: {
    name: 'Routes',
    description: 'd',
    humanHandoff: 'human',
    agents: [
      {id: 'a', name: 'Writer', description: 'd', systemPrompt: 'Write.', model: 'openai/m', welcomeMessage: 'Hello'},
    ],
    entrypointNodeId: 'one',
    nodes: [
      {id: 'one', nodeType: 'AGENT', nodeName: 'One', agentId: 'a'},
      {id: 'two', nodeType: 'AGENT', nodeName: 'Two', agentId: 'a'},
      {id: 'three', nodeType: 'HUMAN', nodeName: 'human', prompt: 'Ask a person.'},
    ],
    edges: [{id: 'e', sourceNodeId: 'one', targetNodeId: 'two', conditionType: 'CONDITIONAL', conditionValue: 'dear'}],
  },
}

// textsOf yields the paths of all strings in a value.
function* textsOf(v, path = []) {
  if (typeof v === 'string') yield path
  else if (v && typeof v === 'object') for (const k of Object.keys(v)) yield* textsOf(v[k], [...path, k])
}

function set(v, path, to) {
  const at = path.slice(0, -1).reduce((o, k) => o[k], v)
  const was = at[path.at(-1)]
  at[path.at(-1)] = to
  return was
}

// poisoned returns the documents with a payload in each string that may have any value, and reports
// the other strings. The payloads are tried in turn: a long one, and one that is short enough for a
// name.
export async function poisoned(api, payloads) {
  const out = {}
  for (const [format, skeleton] of Object.entries(skeletons)) {
    const document = JSON.parse(JSON.stringify(skeleton))
    const compiles = async () => (await api('/documents/compile', {document: JSON.stringify(document), format})).ok
    check(
      `the document in the format ${format} is good`,
      await compiles(),
      JSON.stringify((await api('/documents/compile', {document: JSON.stringify(document), format})).diagnostics),
    )
    const kept = []
    for (const path of [...textsOf(document)]) {
      let taken = false
      for (const text of payloads) {
        const was = set(document, path, text)
        taken = await compiles()
        if (taken) break
        set(document, path, was)
      }
      if (!taken) kept.push(path.join('.'))
    }
    out[format] = {document: JSON.stringify(document, null, 1), kept}
  }
  return out
}
