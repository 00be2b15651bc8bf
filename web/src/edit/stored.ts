import {ApiError, ask, client, type Schemas} from '../api/client.ts'
import {type Format, formats} from '../lib/formats.ts'
import {isUnstored} from './unstored.ts'

type Definition = Schemas['Definition']

// Stored is a workflow as it is on the server. Its etag changes with every version and when a
// version is published.
export type Stored = {definition: Definition; text: string; etag: string}

type Answer = {data?: Definition; error?: unknown; response: Response}

async function storedOf(answer: Promise<Answer>): Promise<Stored> {
  const definition = await ask(answer)
  return {definition, text: definition.document, etag: (await answer).response.headers.get('ETag') ?? ''}
}

export type Version = Schemas['Version']

// versionsOf lists the versions of a workflow, newest first.
export async function versionsOf(id: string, signal?: AbortSignal): Promise<Version[]> {
  const params = {path: {id}, query: {limit: 200}}
  return (await ask(client.GET('/api/v1/workflows/{id}/versions', {params, ...(signal ? {signal} : {})}))).items ?? []
}

// newestOf returns the number of the version that was stored last, or null if there is none.
async function newestOf(id: string, signal?: AbortSignal): Promise<number | null> {
  const {items} = await ask(
    client.GET('/api/v1/workflows/{id}/versions', {
      params: {path: {id}, query: {limit: 1}},
      ...(signal ? {signal} : {}),
    }),
  )
  return items?.[0]?.number ?? null
}

// isCurrent reports whether a version is the one that is edited: the draft, else the published one.
export const isCurrent = ({version, draft, published}: Definition): boolean => version === (draft ?? published)

const tries = 5

// readStored returns the version of a workflow that is edited. A user who may not edit gets the
// published one. The etag belongs to the text: if another client stores a version between the
// requests, it is read again.
export async function readStored(id: string, mayEdit = true, signal?: AbortSignal): Promise<Stored> {
  let version = mayEdit ? await newestOf(id, signal) : null
  for (let n = 0; n < tries; n++) {
    const params = {path: {id}, query: version === null ? {} : {version}}
    const stored = await storedOf(client.GET('/api/v1/workflows/{id}', {params, ...(signal ? {signal} : {})}))
    const {draft, published} = stored.definition
    if (!mayEdit || isCurrent(stored.definition)) return stored
    version = draft ?? published
  }
  throw new Error('The workflow changes all the time: other clients store versions of it.')
}

// storeDraft stores a text as the draft, unless the workflow has changed since it was read. If
// nothing is stored, it creates the workflow.
export function storeDraft(was: Stored, text: string): Promise<Stored> {
  const {id} = was.definition
  if (isUnstored(was)) return storedOf(client.POST('/api/v1/workflows', {body: {id, document: text, draft: true}}))
  return storedOf(
    client.PUT('/api/v1/workflows/{id}', {
      params: {path: {id}, header: {'If-Match': was.etag}},
      body: {document: text, draft: true, ...formatOf(was.definition)},
    }),
  )
}

// publishDraft publishes the draft, unless the workflow has changed since it was read.
export function publishDraft(was: Stored): Promise<Stored> {
  const {id, draft} = was.definition
  return storedOf(
    client.POST('/api/v1/workflows/{id}/publish', {
      params: {path: {id}, header: {'If-Match': was.etag}},
      body: draft === null ? {} : {version: draft},
    }),
  )
}

const formatOf = (d: Definition): {format?: Format} => {
  const format = formats.find(f => f === d.format)
  return format ? {format} : {}
}

// isConflict reports whether an error says that another client changed the workflow first.
export const isConflict = (err: unknown): boolean =>
  err instanceof ApiError && (err.status === 412 || (err.status === 409 && err.problem.reason === 'definition-changed'))
