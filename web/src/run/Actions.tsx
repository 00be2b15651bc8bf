import {useMutation, useQuery, useQueryClient} from '@tanstack/react-query'
import {type ReactNode, useState} from 'react'
import {useLocation} from 'wouter'
import {ask, client} from '../api/client.ts'
import {may} from '../api/session.ts'
import {clean} from '../lib/hostile.ts'
import {useSession} from '../shell/session.ts'
import control from '../ui/control.module.css'
import {Dialog} from '../ui/Dialog.tsx'
import {Button, ErrorBox, Field} from '../ui/parts.tsx'
import type {RunView} from './types.ts'

type Open = 'cancel' | 'retry' | 'delete' | null

// Actions are the actions that are possible in the run's current state. Actions that a role may not
// perform are not offered, and the server rejects them in any case. children are the buttons before
// the last one, which deletes.
export function Actions({view, children}: {view: RunView; children?: ReactNode}) {
  const session = useSession()
  const [open, setOpen] = useState<Open>(null)
  const [, go] = useLocation()
  const queries = useQueryClient()
  const ended = view.endedAt !== null
  const again = useMutation({
    mutationFn: () =>
      ask(
        client.POST('/api/v1/runs', {
          params: {header: {'Idempotency-Key': crypto.randomUUID?.() ?? String(Math.random())}},
          body: {
            workflow: view.workflow.id ?? '',
            input: view.input,
            ...(view.workflow.branch ? {branch: view.workflow.branch} : {}),
          },
        }),
      ),
    onSuccess: run => go(`/runs/${run.id}`),
  })
  const done = () => {
    setOpen(null)
    void queries.invalidateQueries({queryKey: ['runs']})
  }
  return (
    <>
      {!ended && <Button onClick={() => setOpen('cancel')}>Cancel</Button>}
      {ended && view.workflow.version !== null && (
        <Button
          onClick={() => !again.isPending && again.mutate()}
          aria-disabled={again.isPending} // a disabled button would lose the focus, to which the dialog returns
          title="Start the published workflow anew with the same input"
        >
          Run again
        </Button>
      )}
      {(view.status === 'failed' || view.status === 'cancelled') && (
        <Button
          kind="primary"
          onClick={() => setOpen('retry')}
          title="Continue where it failed; what was done is not paid again"
        >
          Continue
        </Button>
      )}
      {children}
      {ended && may(session, 'edit') && (
        <Button kind="danger" onClick={() => setOpen('delete')}>
          Delete
        </Button>
      )}
      {again.error && (
        <Dialog title="Run again" close={() => again.reset()}>
          <ErrorBox error={again.error} />
        </Dialog>
      )}
      {open === 'cancel' && <Cancel id={view.id} close={done} />}
      {open === 'retry' && <Retry view={view} close={done} />}
      {open === 'delete' && <Delete id={view.id} close={done} />}
    </>
  )
}

function Cancel({id, close}: {id: string; close: () => void}) {
  const [reason, setReason] = useState('')
  const cancel = useMutation({
    mutationFn: () =>
      ask(client.POST('/api/v1/runs/{id}/cancel', {params: {path: {id}}, body: reason ? {reason} : {}})),
    onSuccess: close,
  })
  return (
    <Dialog title="Cancel the run?" close={close}>
      <p>No step starts any more. Calls that are out are given up; what they cost may not be known.</p>
      <Field label="Reason, recorded with the run">
        <input className={control.input} value={reason} maxLength={2000} onChange={e => setReason(e.target.value)} />
      </Field>
      {cancel.error && <ErrorBox error={cancel.error} />}
      <Button kind="danger" disabled={cancel.isPending} onClick={() => cancel.mutate()}>
        Cancel the run
      </Button>
    </Dialog>
  )
}

function Retry({view, close}: {view: RunView; close: () => void}) {
  const session = useSession()
  const [from, setFrom] = useState('')
  const [chosen, setChosen] = useState<boolean | null>(null)
  const [, go] = useLocation()
  const nodes = [...new Set(view.steps.map(s => s.node))]
  const {id, version} = view.workflow
  const stored = useQuery({
    queryKey: ['workflows', id, 'published'],
    queryFn: () => ask(client.GET('/api/v1/workflows/{id}', {params: {path: {id: id ?? ''}}})),
    enabled: id !== null && version !== null && may(session, 'edit'),
  })
  const published = stored.data?.published ?? null
  // A newer version is available, for example one in which the failure is fixed.
  const renew = published !== null && published !== version && (chosen ?? published > (version ?? 0))
  const retry = useMutation({
    mutationFn: () =>
      ask(
        client.POST('/api/v1/runs/{id}/retry', {
          params: {path: {id: view.id}},
          body: {...(from ? {from} : {}), ...(renew ? {version: published} : {})},
        }),
      ),
    onSuccess: run => {
      close()
      go(`/runs/${run.id}`)
    },
  })
  return (
    <Dialog title="Continue as a new run" close={close}>
      <p>The new run takes over all that was done before, without calling a model or a tool for it again.</p>
      <Field label="From">
        <select className={control.select} value={from} onChange={e => setFrom(e.target.value)}>
          <option value="">where it ended</option>
          {nodes.map(n => (
            <option key={n} value={n}>
              {clean(n)}
            </option>
          ))}
        </select>
      </Field>
      {published !== null && published !== version && (
        <label className={control.check}>
          <input type="checkbox" checked={renew} onChange={e => setChosen(e.target.checked)} /> With v{published}, which
          is published now, not with v{version}
        </label>
      )}
      {retry.error && <ErrorBox error={retry.error} />}
      <Button kind="primary" disabled={retry.isPending || stored.isLoading} onClick={() => retry.mutate()}>
        Continue
      </Button>
    </Dialog>
  )
}

function Delete({id, close}: {id: string; close: () => void}) {
  const [, go] = useLocation()
  const queries = useQueryClient()
  const remove = useMutation({
    mutationFn: () => ask(client.DELETE('/api/v1/runs/{id}', {params: {path: {id}}})),
    onSuccess: () => {
      close()
      go('/runs')
      queries.removeQueries({queryKey: ['definition', id]})
    },
  })
  return (
    <Dialog title="Delete the run?" close={close}>
      <p>Its journal is deleted, with all that it shows here. This cannot be undone.</p>
      {remove.error && <ErrorBox error={remove.error} />}
      <Button kind="danger" disabled={remove.isPending} onClick={() => remove.mutate()}>
        Delete the run
      </Button>
    </Dialog>
  )
}
