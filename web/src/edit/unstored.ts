import {isRecord} from '../lib/record.ts'
import type {LocalDrafts} from './local_draft.ts'
import type {Stored} from './stored.ts'

// unstored returns a workflow of which nothing is stored: the server does not store text with
// errors, so the browser keeps it until it has none.
export const unstored = (id: string): Stored => ({
  text: '',
  etag: '',
  definition: {
    id,
    name: '',
    format: '',
    document: '',
    version: null,
    draft: null,
    published: null,
    versions: [],
    diagnostics: [],
    facts: null,
    hasRows: false,
    changedBySQL: false,
    labels: {},
    updatedAt: null,
  },
})

// isUnstored reports whether nothing of a workflow is stored.
export const isUnstored = (s: Stored): boolean => s.etag === '' && s.definition.version === null

// ownID returns the id that a text specifies at its top level, as far as it can be read if the text
// has errors, or '' if there is none.
export function ownID(text: string): string {
  const inYAML = /^id:[ \t]+(?:"([^"\n]+)"|'([^'\n]+)'|([^\s"'#][^#\n]*))/m.exec(text)
  if (inYAML) return (inYAML[1] ?? inYAML[2] ?? inYAML[3] ?? '').trim()
  try {
    const v: unknown = JSON.parse(text)
    return isRecord(v) && typeof v.id === 'string' ? v.id : ''
  } catch {
    return ''
  }
}

// canBeID reports whether a workflow can have the id. Text that is not stored yet needs an id with
// which it can be stored later.
export const canBeID = (id: string): boolean =>
  /^[^-.\s/\\][^/\\]*$/.test(id) && !/[\p{C}\p{Zl}\p{Zp}]/u.test(id) && new TextEncoder().encode(id).length <= 200

export type Kept = 'kept' | 'taken' | 'full'

// keepUnstored keeps the first text of a workflow in the browser. The result is taken if the browser
// keeps another text under that id, which is not overwritten, and full if the text cannot be kept.
export function keepUnstored(drafts: LocalDrafts, text: string, now: Date): Kept {
  const other = drafts.read()
  if (other !== null && other.text !== text) return 'taken'
  return other !== null || drafts.keep({text, etag: '', version: null, at: now.toISOString()}) ? 'kept' : 'full'
}
