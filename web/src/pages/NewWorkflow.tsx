import {useMutation} from '@tanstack/react-query'
import {type Dispatch, type FormEvent, type SetStateAction, useEffect, useRef, useState} from 'react'
import {Link, useLocation} from 'wouter'
import {ApiError, ask, client} from '../api/client.ts'
import {localDrafts} from '../edit/local_draft.ts'
import {canBeID, type Kept, keepUnstored, ownID} from '../edit/unstored.ts'
import {textOf} from '../lib/files.ts'
import {useSession} from '../shell/session.ts'
import control from '../ui/control.module.css'
import {Dialog} from '../ui/Dialog.tsx'
import {Button, ErrorBox, Field} from '../ui/parts.tsx'
import {Diagnostics} from './Diagnostics.tsx'
import {samples} from './samples.ts'
import styles from './Workflow.module.css'

// NewWorkflow stores a document that was pasted, or read from a file or a sample, as the draft of a
// new workflow, and opens it.
export function NewWorkflow() {
  const [open, setOpen] = useState(false)
  const [typed, setTyped] = useState<Typed>({id: '', document: ''})
  return (
    <>
      <Button onClick={() => setOpen(true)}>New from text</Button>
      {open && <New typed={typed} type={setTyped} close={() => setOpen(false)} />}
    </>
  )
}

type Typed = {id: string; document: string}

function New({typed, type, close}: {typed: Typed; type: Dispatch<SetStateAction<Typed>>; close: () => void}) {
  const {id, document} = typed
  const [, go] = useLocation()
  const [unread, setUnread] = useState<unknown>(null)
  const make = useMutation({
    mutationFn: () =>
      ask(client.POST('/api/v1/workflows', {body: {document, draft: true, ...(id.trim() ? {id: id.trim()} : {})}})),
    onSuccess: w => go(`/workflows/${encodeURIComponent(w.id)}/edit`),
  })
  const take = async (file: File | undefined) => {
    if (!file) return
    try {
      setUnread(null)
      const text = await textOf(file)
      // an id may be typed while the file is read
      type(now => ({id: now.id || file.name.replace(/\.(ya?ml|json)$/i, ''), document: text}))
    } catch (err) {
      setUnread(err)
    }
  }
  const send = (e: FormEvent) => {
    e.preventDefault()
    make.mutate()
  }
  const problem = make.error instanceof ApiError ? make.error.problem : null
  return (
    <Dialog title="New workflow" close={close}>
      <form className={styles.form} onSubmit={send}>
        <Field label="File" hint="YAML or JSON, of any format; it is taken byte for byte">
          <input
            type="file"
            className={control.input}
            accept=".yaml,.yml,.json"
            onChange={e => void take(e.target.files?.[0])}
          />
        </Field>
        <Field label="Or a sample">
          <select
            className={control.select}
            value=""
            onChange={e => {
              const s = samples.find(x => x.id === e.target.value)
              if (!s) return
              type({id: s.id, document: s.document})
            }}
          >
            <option value="">choose one to begin with</option>
            {samples.map(s => (
              <option key={s.id} value={s.id}>
                {s.title}
              </option>
            ))}
          </select>
        </Field>
        <Field label="Document" hint="Paste it here, or mend what a file has">
          <textarea
            className={`${control.area} ${control.code}`}
            rows={10}
            data-first
            required
            spellCheck={false}
            value={document}
            onChange={e => type({id, document: e.target.value})}
          />
        </Field>
        <Field label="Id" hint="It names the workflow in addresses and commands; without one, the document's own">
          <input
            className={`${control.input} ${control.code}`}
            maxLength={200}
            value={id}
            onChange={e => type({id: e.target.value, document})}
          />
        </Field>
        {unread !== null && <ErrorBox error={unread} />}
        {problem?.reason === 'document-not-stored' ? (
          <Correct key={make.submittedAt} id={id.trim() || ownID(document)} document={document} />
        ) : (
          make.error && <ErrorBox error={make.error} />
        )}
        {problem && <Diagnostics list={problem.diagnostics ?? []} />}
        <div>
          <Button kind="primary" type="submit" disabled={make.isPending}>
            Create the draft
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

// Correct opens the editor with a text that the server does not store because it has errors. The
// browser keeps it until it is stored.
function Correct({id, document}: {id: string; document: string}) {
  const {namespace} = useSession()
  const [, go] = useLocation()
  const [kept, setKept] = useState<Kept>('kept')
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    void box.current?.scrollIntoView({block: 'nearest'}) // newer browsers return a promise
  }, [])
  const to = `/workflows/${encodeURIComponent(id)}/edit`
  const open = () => {
    const now = keepUnstored(localDrafts(namespace, id), document, new Date())
    setKept(now)
    if (now === 'kept') go(to)
  }
  return (
    <div ref={box} className={styles.correct} role="alert">
      <p>
        <strong>The document has errors, and the server stores none with errors.</strong> Correct it here and create the
        draft again, or go on in the editor, which marks each error at its place; this browser keeps the text until it
        is stored.
        {!canBeID(id) &&
          ' The editor needs the id of the workflow: type one above, ' +
            'without slashes and with neither a dash nor a dot at its beginning.'}
      </p>
      {kept === 'full' && <p>This browser has no room for the text, or keeps none: correct it here.</p>}
      {kept === 'taken' && (
        <p>
          This browser keeps <Link href={to}>another text of this id</Link>, which was not stored either. Store or
          discard that one, or take another id.
        </p>
      )}
      <div>
        <Button disabled={!canBeID(id)} onClick={open}>
          Continue in the editor
        </Button>
      </div>
    </div>
  )
}
