import type {Words} from './words.ts'

// Kinds are the possible JSON types of a value; null means any.
export type Kinds = readonly string[] | null

// Known is a reference that has a value at the position of the text.
export type Known = {text: string; kinds: Kinds; about: string}

// Scope describes what a text may hold: value means expressions in braces, condition means that the
// text is one expression, template means references in braces, and token means only tokens, exactly
// as spelled.
export type Scope = {
  read: 'value' | 'condition' | 'template' | 'token'
  known: readonly Known[]
  tokens: boolean
  words: Words
}

// Suggestion is a completion at the cursor: insert replaces the range from from to to, and
// selection is selected then, counted from the beginning of the text.
export type Suggestion = {
  label: string
  about: string
  from: number
  to: number
  insert: string
  selection: readonly [number, number]
}

const most = 60

// Place is the position of the cursor in an expression. before and after are the parts of the
// expression around it; open is where its braces start, or -1 if it has none.
type Place = {open: number; before: string; after: string; closed: boolean}

// quoted matches strings in quotes.
const quoted = /'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"/gs

// expressionEnd returns the position of the braces that close an expression that starts at i, or -1
// if there are none. Braces inside strings of the expression do not close it.
function expressionEnd(text: string, i: number): number {
  const token = new RegExp(`${quoted.source}|}}|{{`, 'gs')
  token.lastIndex = i
  for (let m = token.exec(text); m; m = token.exec(text)) {
    if (m[0] === '}}') return m.index
    if (m[0] === '{{') return -1 // another expression starts, so this one is not closed
  }
  return -1
}

function placeIn(text: string, cursor: number, read: Scope['read']): Place | null {
  if (read === 'condition') {
    const plain = (s: string) => s.replaceAll('{{', ' (').replaceAll('}}', ') ')
    return {open: -1, before: plain(text.slice(0, cursor)), after: plain(text.slice(cursor)), closed: true}
  }
  const open = text.lastIndexOf('{{', cursor - 2)
  if (open < 0 || cursor < open + 2) return null
  const end = expressionEnd(text, open + 2)
  if (end >= 0 && end < cursor) return null
  return {open, before: text.slice(open + 2, cursor), after: end < 0 ? '' : text.slice(cursor, end), closed: end >= 0}
}

const reference = /\$(?:[\p{L}\p{N}_.-]|\['[^']*'\]|\[\d+\])*$/u
const onLeft = /\s*([=!<>]=|[<>+*/%-]|\bin)$/

const both = (a: Kinds, b: Kinds): Kinds => (a && b ? a.filter(k => b.includes(k)) : (a ?? b))
const meet = (a: Kinds, b: Kinds): boolean => both(a, b)?.length !== 0

// behindOf returns the kinds that an operator accepts after a value.
function behindOf(name: string, kinds: Kinds): Kinds {
  if (/[=!]=/.test(name)) return kinds
  if (name === 'in') return ['array', 'object']
  return both(
    kinds,
    name === '+' ? ['number', 'string', 'array'] : /[<>]/.test(name) ? ['number', 'string', 'boolean'] : ['number'],
  )
}

// Demand is what is required at a position: a value of some kinds, and a condition as a whole
// (alone), as a part of one (part), or after a ! (denied).
type Demand = {kinds: Kinds; truth: 'none' | 'alone' | 'part' | 'denied'}

function demandAt(before: string, after: string, scope: Scope): Demand {
  const prev = before.trimEnd()
  const next = after.trimStart()
  const left = onLeft.exec(prev)
  const condition = scope.read === 'condition'
  // After an unknown value, no kinds are known.
  const value = left && scope.known.find(k => prev.slice(0, left.index).endsWith(k.text))
  const kinds = left && behindOf(left[1]!, value ? value.kinds : [])
  const truth =
    left || /\w\([^()]*$/.test(prev) // an argument
      ? 'none'
      : /!$/.test(prev)
        ? 'denied'
        : /(&&|\|\||!)[\s(]*$/.test(prev) || (condition && /[?:]$/.test(prev)) || /^[\s)]*(&&|\|\||\?)/.test(next)
          ? 'part'
          : condition && /^[\s(]*$/.test(prev) && /^[\s)]*$/.test(next)
            ? 'alone'
            : 'none'
  return {kinds, truth}
}

// tested returns the suffix that turns a value of some kinds into the required condition: '' if it
// already is one, or null if it cannot be.
function tested(kinds: Kinds, {kinds: wanted, truth}: Demand): string | null {
  if (!meet(kinds, wanted)) return null
  const may = (kind: string) => !kinds || kinds.includes(kind)
  if (truth === 'none' || may('boolean') || (truth === 'alone' && may('string'))) return ''
  if (truth === 'denied') return null
  return may('string') ? " == 'text'" : may('number') ? ' > 0' : may('array') || may('object') ? '.size() > 0' : null
}

type Offer = {label: string; about: string; text: string; select?: readonly [number, number] | undefined}

// argument returns the range of the example argument in a call.
const argument = (text: string): readonly [number, number] | undefined => {
  const [from, to] = [text.indexOf('(') + 1, text.lastIndexOf(')')]
  return from > 0 && to > from ? [from, to] : undefined
}

const has = (text: string, part: string): boolean => text.toLowerCase().includes(part.toLowerCase())

// calls returns functions. If of is set, they are methods of a value of these kinds, which is
// before the dot; otherwise they accept a value as argument.
function calls(begun: string, {words, known}: Scope, demand: Demand, of?: Kinds): Offer[] {
  return words.functions.flatMap(f => {
    const method = f.form.startsWith('x.')
    const takes = f.of ?? null
    const more = tested(f.gives ?? null, demand)
    if (method !== (of !== undefined) || !has(f.name, begun) || more === null) return []
    const x = method ? (meet(of ?? null, takes) ? '' : undefined) : known.find(k => meet(k.kinds, takes))?.text
    if (x === undefined) return []
    const text = method ? f.form.slice(2) : f.form.replace('(x)', () => `(${x})`)
    return [{label: method ? `.${text}` : f.form, about: f.doc, text: text + more, select: argument(text)}]
  })
}

function references(begun: string, scope: Scope, demand: Demand): Offer[] {
  return scope.known.flatMap(({text, kinds, about}) => {
    const more = tested(kinds, demand)
    return has(text, begun) && text !== begun && more !== null ? [{label: text, about, text: text + more}] : []
  })
}

const word = /^\w*/

// nameTail is the rest of a reference after the cursor, without the name of a function that is
// called.
const nameTail = /^(?:[\p{L}\p{N}_-]+(?![\p{L}\p{N}_-]*\())?(?:\.[\p{L}\p{N}_-]+(?![\p{L}\p{N}_-]*\())*/u

// stringAt returns the JSON string that contains the cursor, from its first character to its last,
// or null if there is none.
function stringAt(json: string, cursor: number): readonly [number, number] | null {
  for (const m of json.matchAll(/"((?:\\.|[^"\\])*)(?:"|$)/gs)) {
    const from = m.index + 1
    const to = from + m[1]!.length
    if (cursor < from) return null
    if (cursor <= to) return [from, to]
  }
  return null
}

// suggestionsInJSON returns the suggestions for a string in a JSON value.
export function suggestionsInJSON(json: string, cursor: number, scope: Scope, asked = false): Suggestion[] {
  const [from, to] = stringAt(json, cursor) ?? []
  if (from === undefined) return []
  const all = suggestionsAt(json.slice(from, to), cursor - from, scope, asked)
  return all.map(s => ({
    ...s,
    from: from + s.from,
    to: from + s.to,
    selection: [from + s.selection[0], from + s.selection[1]],
  }))
}

// isWhole reports whether a reference that has a value ends at the cursor, so that there is nothing
// to complete.
export const isWhole = (text: string, cursor: number, scope: Scope): boolean =>
  scope.known.some(k => text.slice(0, cursor).endsWith(k.text))

// suggestionsAt returns the suggestions at a cursor. asked means that the user requested them, even
// if no expression has been started.
export function suggestionsAt(text: string, cursor: number, scope: Scope, asked = false): Suggestion[] {
  const at = placeIn(text, cursor, scope.read)
  if (!at) {
    // Suggestions requested outside an expression get their own braces.
    const inner = asked
      ? suggestionsAt(`${text.slice(0, cursor)}{{  }}${text.slice(cursor)}`, cursor + 3, scope, true)
      : []
    return inner.map(s => ({...s, from: cursor, to: cursor}))
  }
  const {before, after} = at
  if (/['"]/.test(before.replace(quoted, ''))) return [] // inside a string
  const ref = reference.exec(before)
  const begun = ref?.[0] ?? /(?<![\w.)\]$-])[A-Za-z_]\w*$/.exec(before)?.[0] ?? ''
  const prev = before.slice(0, before.length - begun.length)
  const first = prev.trim() === ''
  if (begun === '' && (/[\w.)\]'"]\s*$/.test(prev) || !(asked || (first && at.open >= 0)))) return []
  const behind = after.replace(nameTail, '')
  if (/^\s*([=!<>]=|[<>+*/%-]|in\b)/.test(behind)) return [] // the operand type of its operator is not checked
  const alone = first && behind.trim() === ''
  const {read} = scope
  const written = (offers: readonly Offer[], begun: string, tail: RegExp) =>
    offers.map(o => writtenAt(at, cursor, o, begun.length, tail.exec(after)![0].length))
  const tokens = scope.tokens && alone && !ref ? scope.words.tokens.filter(t => has(t.name, begun)) : []
  const out = written(
    tokens.map(t => ({label: t.name, about: t.doc, text: t.name})),
    begun,
    word,
  )
  if (read === 'token' || (read === 'template' && !alone)) return out
  const demand = demandAt(prev, behind, scope)
  out.push(...written(references(begun, scope, demand), begun, nameTail))
  if (read === 'template') return out
  if (!ref) return [...out, ...written(calls(begun, scope, demand), begun, word)].slice(0, most)
  const [, base = '', name = ''] = /^(.*)\.(\w*)$/su.exec(begun) ?? []
  const of = scope.known.find(k => k.text === base)?.kinds ?? null
  if (scope.known.some(k => base.startsWith(k.text))) out.push(...written(calls(name, scope, demand, of), name, word))
  return out.slice(0, most)
}

// writtenAt converts an offer to a suggestion: it closes what is not closed, and puts blanks around
// text that is alone between its braces.
function writtenAt(
  {open, before, after, closed}: Place,
  cursor: number,
  o: Offer,
  begun: number,
  tail: number,
): Suggestion {
  const alone = open >= 0 && before.slice(0, before.length - begun).trim() === '' && after.slice(tail).trim() === ''
  const lead = alone && !o.text.startsWith('{{') ? '{{ ' : ''
  // Open calls around the cursor are also closed, if nothing follows it.
  const plain = before.replace(quoted, '')
  const calls = after.trim() === '' ? ')'.repeat(Math.max(0, plain.split('(').length - plain.split(')').length)) : ''
  const insert = lead + o.text + calls + (lead || !(alone || closed) ? ' }}' : '')
  const from = alone ? open : cursor - begun
  const to = cursor + (alone && closed ? after.length + 2 : tail)
  const [first, last] = o.select ?? [insert.length - lead.length, insert.length - lead.length]
  return {
    label: o.label,
    about: o.about,
    from,
    to,
    insert,
    selection: [from + lead.length + first, from + lead.length + last],
  }
}
