import {useMutation} from '@tanstack/react-query'
import {useState} from 'react'
import {useLocation} from 'wouter'
import {ApiError, ask, client} from '../api/client.ts'
import control from '../ui/control.module.css'
import {Dialog} from '../ui/Dialog.tsx'
import {Button, ErrorBox, Field} from '../ui/parts.tsx'
import {emptyCanvas, slug} from './new_canvas.ts'
import styles from './TestRun.module.css'

// exists tells whether a workflow is stored under an id.
async function exists(id: string): Promise<boolean> {
  try {
    await ask(client.GET('/api/v1/workflows/{id}', {params: {path: {id}}}))
    return true
  } catch (err) {
    if (err instanceof ApiError && err.status === 404) return false
    throw err
  }
}

async function create(name: string, id: string): Promise<string> {
  if (await exists(id)) throw new Error(`A workflow with the id "${id}" is stored already.`)
  await ask(client.PUT('/api/v1/workflows/{id}', {params: {path: {id}}, body: {document: emptyCanvas(name), draft: true, format: 'canvas'}}))
  return id
}

// NewCanvas stores the draft of a workflow with a start and nothing behind it, and opens it.
export function NewCanvas() {
  const [, go] = useLocation()
  const [open, setOpen] = useState(false)
  const [name, setName] = useState('')
  const [id, setID] = useState<string | null>(null)
  const make = useMutation({
    mutationFn: () => create(name.trim(), id ?? slug(name)),
    onSuccess: made => go(`/workflows/${encodeURIComponent(made)}/edit`),
  })
  return (
    <>
      <Button kind="primary" onClick={() => setOpen(true)}>
        Draw a workflow
      </Button>
      {open && (
        <Dialog title="Draw a workflow" close={() => setOpen(false)}>
          <form
            className={styles.form}
            onSubmit={e => {
              e.preventDefault()
              make.mutate()
            }}
          >
            <Field label="Name">
              <input className={control.input} required value={name} onChange={e => setName(e.target.value)} />
            </Field>
            <Field label="Id" hint="It names the workflow in addresses and commands.">
              <input className={`${control.input} ${control.code}`} required value={id ?? slug(name)} onChange={e => setID(e.target.value)} />
            </Field>
            {make.error && <ErrorBox error={make.error} />}
            <div>
              <Button kind="primary" type="submit" disabled={make.isPending}>
                Create the draft
              </Button>
            </div>
          </form>
        </Dialog>
      )}
    </>
  )
}
