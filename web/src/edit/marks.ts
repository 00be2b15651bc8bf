import {type Diagnostic, forEachDiagnostic, setDiagnostics} from '@codemirror/lint'
import type {EditorState, Range, TransactionSpec} from '@codemirror/state'
import {Decoration, EditorView} from '@codemirror/view'
import {odd} from '../lib/hostile.ts'
import type {Check, Problem} from './check.ts'

const clamp = (n: number, most: number): number => Math.max(0, Math.min(n, most))

// diagnosticOf returns a problem as the editor marks it: as text, without markup.
export function diagnosticOf(p: Problem, length: number): Diagnostic | null {
  if (!p.at) return null
  const from = clamp(p.at.from, length)
  return {
    from,
    to: clamp(Math.max(p.at.to, from), length),
    severity: p.severity,
    source: p.code,
    message: p.hint ? `${p.message}\n${p.hint}` : p.message,
  }
}

// marksOf returns the transaction that marks the problems of a check in the text that was checked,
// or null if the text has changed since.
export function marksOf(state: EditorState, text: string, check: Check): TransactionSpec | null {
  if (text !== check.text) return null
  const length = state.doc.length
  return setDiagnostics(
    state,
    check.problems.map(p => diagnosticOf(p, length)).filter(d => d !== null),
  )
}

// aroundSigns marks problems that start at a character without a glyph. The editor shows a sign
// instead, which starts before marks at the same position, so the sign would not be marked
// otherwise.
export const aroundSigns = EditorView.decorations.of(({state}) => {
  const marks: Range<Decoration>[] = []
  forEachDiagnostic(state, ({severity}, from, to) => {
    if (to > from && state.sliceDoc(from, from + 1).search(odd) === 0)
      marks.push(Decoration.mark({class: `cm-lintRange cm-lintRange-${severity}`, inclusive: true}).range(from, to))
  })
  return Decoration.set(marks, true)
})
