import {useMutation} from '@tanstack/react-query'
import {type FormEvent, useState} from 'react'
import {useLocation} from 'wouter'
import {ApiError, ask, client} from '../api/client.ts'
import {textOf} from '../lib/files.ts'
import control from '../ui/control.module.css'
import {Dialog} from '../ui/Dialog.tsx'
import {Button, ErrorBox, Field} from '../ui/parts.tsx'
import {Diagnostics} from './Diagnostics.tsx'
import {samples} from './samples.ts'
import styles from './Workflow.module.css'

// NewWorkflow stores a document that is pasted, taken from a file or from a sample, as the draft of a new workflow, and opens it.
export function NewWorkflow() {
  const [open, setOpen] = useState(false)
  return (
    <>
      <Button onClick={() => setOpen(true)}>New from text</Button>
      {open && <New close={() => setOpen(false)} />}
    </>
  )
}

function New({close}: {close: () => void}) {
  const [, go] = useLocation()
  const [id, setID] = useState('')
  const [document, setDocument] = useState('')
  const [unread, setUnread] = useState<unknown>(null)
  const make = useMutation({
    mutationFn: () => ask(client.POST('/api/v1/workflows', {body: {document, draft: true, ...(id.trim() ? {id: id.trim()} : {})}})),
    onSuccess: w => go(`/workflows/${encodeURIComponent(w.id)}/edit`),
  })
  const take = async (file: File | undefined) => {
    if (!file) return
    try {
      setUnread(null)
      setDocument(await textOf(file))
      if (!id) setID(file.name.replace(/\.(ya?ml|json)$/i, ''))
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
          <input type="file" className={control.input} accept=".yaml,.yml,.json" onChange={e => void take(e.target.files?.[0])} />
        </Field>
        <Field label="Or a sample">
          <select
            className={control.select}
            value=""
            onChange={e => {
              const s = samples.find(x => x.id === e.target.value)
              if (!s) return
              setDocument(s.document)
              setID(s.id)
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
            required
            spellCheck={false}
            value={document}
            onChange={e => setDocument(e.target.value)}
          />
        </Field>
        <Field label="Id" hint="It names the workflow in addresses and commands; without one, the document's own">
          <input className={`${control.input} ${control.code}`} maxLength={200} value={id} onChange={e => setID(e.target.value)} />
        </Field>
        {unread !== null && <ErrorBox error={unread} />}
        {make.error && <ErrorBox error={make.error} />}
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
