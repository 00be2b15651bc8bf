import {useMutation} from '@tanstack/react-query'
import {useState} from 'react'
import {useLocation} from 'wouter'
import {ApiError, ask, client} from '../api/client.ts'
import control from '../ui/control.module.css'
import {Dialog} from '../ui/Dialog.tsx'
import {Button, ErrorBox, Field} from '../ui/parts.tsx'
import type {Format} from './document.ts'
import {emptyCanvas, emptyRounds, slug} from './new_canvas.ts'
import styles from './TestRun.module.css'

// taken reports whether a workflow with the id exists already.
const taken = (err: unknown): boolean => err instanceof ApiError && err.status === 409

async function create(name: string, id: string, format: Format): Promise<string> {
  const document = format === 'canvas' ? emptyCanvas(name) : emptyRounds(name)
  await ask(client.POST('/api/v1/workflows', {body: {id, document, draft: true, format}}))
  return id
}

const kinds: readonly {format: Format; word: string; hint: string}[] = [
  {format: 'canvas', word: 'Canvas', hint: 'Steps with conditions, approvals and sub-agents, from a start on'},
  {
    format: 'rounds',
    word: 'Rounds',
    hint: 'Agents that speak in turn for a number of rounds; branches that start by the clock',
  },
]

// NewCanvas stores the draft of an empty workflow, and opens it.
export function NewCanvas() {
  const [, go] = useLocation()
  const [open, setOpen] = useState(false)
  const [name, setName] = useState('')
  const [id, setID] = useState<string | null>(null)
  const [format, setFormat] = useState<Format>('canvas')
  const make = useMutation({
    mutationFn: () => create(name.trim(), id ?? slug(name), format),
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
              <input
                className={`${control.input} ${control.code}`}
                required
                value={id ?? slug(name)}
                onChange={e => setID(e.target.value)}
              />
            </Field>
            <fieldset className={styles.kinds}>
              <legend>What it is made of</legend>
              {kinds.map(k => (
                <label key={k.format}>
                  <input
                    type="radio"
                    name="format"
                    checked={format === k.format}
                    onChange={() => setFormat(k.format)}
                  />
                  <span>
                    {k.word}
                    <small>{k.hint}</small>
                  </span>
                </label>
              ))}
            </fieldset>
            {make.error && (
              <ErrorBox
                error={
                  taken(make.error)
                    ? new Error('A workflow with this id is stored already: choose another one.')
                    : make.error
                }
              />
            )}
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
