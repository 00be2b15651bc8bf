import {isRecord} from '../lib/record.ts'
import type {LocalDrafts} from './local_draft.ts'
import type {Stored} from './stored.ts'

// begun is a workflow of which nothing is stored yet: the server stores no text with errors, and the browser keeps it until it has none.
export const begun = (id: string): Stored => ({
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

// isBegun tells that nothing of a workflow is stored.
export const isBegun = (s: Stored): boolean => s.etag === '' && s.definition.version === null

// ownID gives the id that a text names at its top, as far as it can be read where the text has errors; '': none.
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

// canBeID tells whether a workflow may have the id, as far as a text that is not stored needs one that can be stored.
export const canBeID = (id: string): boolean =>
  /^[^-.\s/\\][^/\\]*$/.test(id) && !/[\p{C}\p{Zl}\p{Zp}]/u.test(id) && new TextEncoder().encode(id).length <= 200

export type Kept = 'kept' | 'taken' | 'full'

// keepBegun keeps the first text of a workflow in the browser. taken: it keeps another text of that id, which is not lost for this one. full: it cannot keep it.
export function keepBegun(drafts: LocalDrafts, text: string, now: Date): Kept {
  const other = drafts.read()
  if (other !== null && other.text !== text) return 'taken'
  return other !== null || drafts.keep({text, etag: '', version: null, at: now.toISOString()}) ? 'kept' : 'full'
}
