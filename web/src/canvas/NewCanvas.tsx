import {useMutation} from '@tanstack/react-query'
import {useState} from 'react'
import {useLocation} from 'wouter'
import {ApiError, ask, client} from '../api/client.ts'
import control from '../ui/control.module.css'
import {Dialog} from '../ui/Dialog.tsx'
import {Button, ErrorBox, Field} from '../ui/parts.tsx'
import {emptyCanvas, slug} from './new_canvas.ts'
import styles from './TestRun.module.css'

// taken tells that there is a workflow with the id.
const taken = (err: unknown): boolean => err instanceof ApiError && err.status === 409

async function create(name: string, id: string): Promise<string> {
  await ask(client.POST('/api/v1/workflows', {body: {id, document: emptyCanvas(name), draft: true, format: 'canvas'}}))
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
            {make.error && <ErrorBox error={taken(make.error) ? new Error('A workflow with this id is stored already: choose another one.') : make.error} />}
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
