// This module contains the documents that the benchmarks use.

// columns and rows describe the graph of 500 nodes: a start node and parallel chains.
const [columns, rows] = [10, 50]

// canvasOf500 returns a canvas document with 500 nodes, which are agents or steps without a model.
export function canvasOf500() {
  const nodes = [{id: 'start', type: 'start', data: {initialInput: 'Begin'}}]
  const connections = []
  for (let c = 0; c < columns; c++) {
    for (let r = 0; r < rows && nodes.length < columns * rows; r++) {
      const id = `n${c}-${r}`
      const data = {
        agentName: `Clerk ${c}.${r}`,
        model: 'openai/m',
        userPrompt: 'Say what is next.',
        systemPrompt: `You are clerk ${r} of office ${c}.`,
      }
      nodes.push({id, type: 'agent', data, position: {x: c * 300, y: 120 + r * 130}})
      connections.push({source: r === 0 ? 'start' : `n${c}-${r - 1}`, target: id})
    }
  }
  return `${JSON.stringify({name: '500 nodes', nodes, connections}, null, 2)}\n`
}

// stepsOf returns a steps document with the given number of lines.
export function stepsOf(lines) {
  const out = ['# Registers letters, one after another.', 'agents:']
  for (let i = 0; i < 20; i++)
    out.push(
      `  clerk${i}:`,
      '    model: openai/m',
      `    description: Reads letters of office ${i}.`,
      '    instruction: |',
      `      You are clerk ${i}. Read the letter and say what it asks for.`,
    )
  out.push('workflow:', '  steps:')
  for (let i = 0; out.length <= lines - 7; i++) {
    out.push(
      `    - id: letter${i}`,
      '      type: agent',
      `      name: clerk${i % 20}`,
      `      # letter ${i} is read here`,
    )
    out.push(`    - id: note${i}`, '      type: set', `      values: {no: "{{ $steps.letter${i}.output }}"}`)
  }
  while (out.length < lines) out.push(`# line ${out.length + 1}`)
  return `${out.join('\n')}\n`
}

// loop is a steps document whose run makes the given number of passes.
export const loop = passes => `agents:
  writer: {model: openai/m, instruction: Write the next line.}
workflow:
  max_loop_iterations: ${passes}
  steps:
    - {id: line, type: agent, name: writer}
    - id: more
      type: condition
      condition: "{{ $steps.line.output == 'done' }}"
      "false": line
      limit: [{type: end, output: "{{ $steps.line.output }}"}]
`

// map runs a step without a model for each item of its input.
export const map = `workflow:
  - {id: list, type: set, values: {items: "{{ $input.json() }}"}}
  - id: each
    type: map
    over: "{{ $steps.list.output.items }}"
    steps:
      - {id: line, type: set, values: {no: "{{ $item_index + 1 }}"}}
  - {type: end, output: "{{ size($steps.each.output) }}"}
`

// times repeats its input, so that a short request produces a value of several megabytes.
export const times = n => `workflow:
  - {id: large, type: set, values: {text: "${'{{ $input }}'.repeat(n)}"}}
  - {id: next, type: set, values: {size: "{{ size($steps.large.output.text) }}"}}
`

// asking waits for a person the given number of times, one after another.
export function asking(n) {
  const steps = Array.from({length: n}, (_, i) => `  - {id: gate${i}, type: approval, prompt: "Gate ${i}: go on?"}`)
  return `workflow:\n${steps.join('\n')}\n`
}

// short holds the short runs that are copied to fill the long list: one completes, one fails and
// one waits.
export const short = {
  'order-intake': `workflow:\n  - {id: note, type: set, values: {text: "{{ $input }}"}}\n`,
  'weekly-report':
    'agents:\n  clerk: {model: openai/m, instruction: Sum it up.}\n' +
    `workflow:\n  - {id: sum, type: agent, name: clerk}\n`,
  'refund-check': `workflow:\n  - {id: check, type: end, status: failed, message: "{{ $input }} is not refunded"}\n`,
  'contract-approval': `workflow:\n  - {id: gate, type: approval, prompt: "Sign it?"}\n`,
}
