import {type Diagnostic, setDiagnostics} from '@codemirror/lint'
import type {EditorState, TransactionSpec} from '@codemirror/state'
import type {Check, Problem} from './check.ts'

const clamp = (n: number, most: number): number => Math.max(0, Math.min(n, most))

// diagnosticOf gives a problem as the editor marks it: as text, without markup.
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

// marksOf gives what marks the problems of a check in the text that was checked; null where the text is another one by now.
export function marksOf(state: EditorState, text: string, check: Check): TransactionSpec | null {
  if (text !== check.text) return null
  const length = state.doc.length
  return setDiagnostics(
    state,
    check.problems.map(p => diagnosticOf(p, length)).filter(d => d !== null),
  )
}
