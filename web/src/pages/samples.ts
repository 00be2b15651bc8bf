// Sample is a workflow that runs without a model, an API key or a network.
export type Sample = {id: string; title: string; what: string; input: string; document: string}

export const samples: Sample[] = [
  {
    id: 'sample-letters',
    title: 'Count the letters',
    what: 'Two branches at the same time, and what both gave put together.',
    input: 'The library opens on Sundays',
    document:
      `# Two branches at the same time; the last step puts together what they gave. It needs no model.
workflow:
  - id: look
    type: parallel
    steps:
      - {id: letters, type: set, values: {n: "{{ size($input) }}"}}
      - {id: words, type: set, values: {list: "{{ $input.split(' ') }}"}}
  - {id: sum, type: set, values: {text: "{{ size($steps.words.output.list) }} words, ` +
      `{{ $steps.letters.output.n }} characters"}}
  - {type: end, output: "{{ $steps.sum.output.text }}"}
`,
  },
  {
    id: 'sample-approval',
    title: 'Ask before it is sent',
    what: 'A letter waits for a person, who approves or rejects it with a note.',
    input: 'Dear Ada, come on Sunday.',
    document: `# The letter is sent only where a person approves of it. It needs no model.
workflow:
  - {id: letter, type: set, values: {text: "{{ $input }}"}}
  - id: ok
    type: approval
    prompt: "Send it? {{ $steps.letter.output.text }}"
    deadline: 2d
    reject: [{type: end, status: failed, message: "not sent: {{ $steps.ok.note }}"}]
  - {type: end, output: "sent: {{ $steps.letter.output.text }}"}
`,
  },
  {
    id: 'sample-list',
    title: 'Go through a list',
    what: 'A form asks for a choice, then each item of a list is worked on.',
    input: 'apples, pears and plums',
    document: `# A person fills in a form; then the same steps run for each item of a list. It needs no model.
workflow:
  - id: form
    type: ask
    prompt: "How many of each: {{ $input }}?"
    schema:
      type: object
      required: [count]
      properties:
        count: {type: integer, minimum: 1, maximum: 20, title: How many}
        gift: {type: boolean, title: Wrap it as a gift}
  - {id: list, type: set, values: {items: ["apples", "pears", "plums"]}}
  - id: each
    type: map
    over: "{{ $steps.list.output.items }}"
    as: fruit
    steps:
      - {id: line, type: set, values: {text: "{{ $steps.form.output.count }} {{ $fruit }}"}}
  - {type: end, output: "{{ $steps.each.output }}"}
`,
  },
]
