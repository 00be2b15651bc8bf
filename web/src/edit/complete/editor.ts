import {
  autocompletion,
  type Completion,
  type CompletionContext,
  type CompletionResult,
  pickedCompletion,
  startCompletion,
} from '@codemirror/autocomplete'
import type {Extension} from '@codemirror/state'
import {type EditorView, hoverTooltip} from '@codemirror/view'
import {clean} from '../../lib/hostile.ts'
import {languageOf} from '../languages.ts'
import type {Facts} from './facts.ts'
import {hoverAt} from './hover.ts'
import {type Offer, type Offers, offersAt, type Vocabulary} from './offers.ts'

// completing provides completion (with Ctrl Space, or while a word is typed) and hover, using the
// vocabulary at the time of the request.
export const completing = (known: () => Vocabulary): Extension => [
  autocompletion({override: [c => completionsAt(c, known())], icons: false, maxRenderedOptions: 200}),
  hoverTooltip((view, pos, side) => {
    const text = view.state.doc.toString()
    const found = hoverAt(text, side < 0 ? pos - 1 : pos, languageOf(text), known())
    return found && {pos: found.from, end: found.to, above: true, create: () => ({dom: elementOf(found.facts)})}
  }),
]

function completionsAt(c: CompletionContext, known: Vocabulary): CompletionResult | null {
  const text = c.state.doc.toString()
  const offers = offersAt(text, c.pos, languageOf(text), known)
  if (!offers || (!c.explicit && offers.from === c.pos && !/[.$]$/.test(text.slice(c.pos - 1, c.pos)))) return null
  return {from: offers.from, options: offers.list.map(o => completionOf(o, offers)), validFor: /^[\w-]*$/}
}

function completionOf(o: Offer, {lead, tail}: Offers): Completion {
  return {
    label: o.label,
    displayLabel: clean(o.label),
    ...(o.detail ? {detail: o.detail} : {}),
    boost: o.rank * 10,
    ...(o.facts ? {info: () => elementOf(o.facts!)} : {}),
    apply: (view: EditorView, picked: Completion, from: number, to: number) => {
      const begin = from - lead
      view.dispatch({
        changes: {from: begin, to: Math.min(to + tail, view.state.doc.length), insert: view.state.toText(o.insert)},
        selection: {anchor: begin + o.cursor},
        scrollIntoView: true,
        userEvent: 'input.complete',
        annotations: pickedCompletion.of(picked),
      })
      if (o.again) startCompletion(view)
    },
  }
}

const line = (name: string, text: string, of = 'p'): HTMLElement => {
  const e = document.createElement(of)
  e.className = `cm-fact-${name}`
  e.textContent = clean(text)
  return e
}

// elementOf shows the facts of a schema as text.
export function elementOf(f: Facts): HTMLElement {
  const out = document.createElement('div')
  out.className = 'cm-facts'
  if (f.title && f.title !== f.name) out.append(line('title', f.title))
  if (f.name) out.append(line('name', f.required ? `${f.name} · required` : f.name, 'strong'))
  for (const text of f.about) out.append(line('about', text))
  if (f.type) out.append(line('type', `Type: ${f.type}`))
  if (f.preset) out.append(line('preset', `Default: ${f.preset}`))
  if (f.values.length > 0) out.append(line('values', `One of: ${f.values.join(', ')}`))
  return out
}
