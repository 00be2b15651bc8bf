import {useQuery} from '@tanstack/react-query'
import {useState} from 'react'
import {Link} from 'wouter'
import {ask, client} from '../api/client.ts'
import {ago} from '../lib/format.ts'
import {Dialog} from '../ui/Dialog.tsx'
import {Button, ErrorBox, Loading} from '../ui/parts.tsx'
import {Status} from '../ui/Status.tsx'
import {Line} from '../ui/Text.tsx'
import styles from './CompareWith.module.css'
import type {RunView} from './types.ts'

// CompareWith offers the runs to compare a run with: the run that it continues, and the latest runs
// of its workflow.
export function CompareWith({view}: {view: RunView}) {
  const [open, setOpen] = useState(false)
  return (
    <>
      <Button onClick={() => setOpen(true)}>Compare…</Button>
      {open && (
        <Dialog title="Compare with" close={() => setOpen(false)}>
          <Choice view={view} />
        </Dialog>
      )}
    </>
  )
}

function Choice({view}: {view: RunView}) {
  const workflow = view.workflow.id ?? view.workflow.name ?? ''
  const runs = useQuery({
    queryKey: ['runs', 'compare', workflow],
    queryFn: () => ask(client.GET('/api/v1/runs', {params: {query: {limit: 20, ...(workflow ? {workflow} : {})}}})),
  })
  if (runs.error) return <ErrorBox error={runs.error} />
  if (!runs.data) return <Loading what="the runs" />
  const others = (runs.data.items ?? []).filter(r => r.id !== view.id && r.id !== view.forkedFrom)
  if (others.length === 0 && !view.forkedFrom) return <p>There is no other run of this workflow.</p>
  return (
    <ul className={styles.list}>
      {view.forkedFrom && (
        <li>
          <Link data-first href={`/runs/${view.forkedFrom}/compare/${view.id}`}>
            The run that it continues
          </Link>
        </li>
      )}
      {others.map((r, i) => (
        <li key={r.id}>
          <Status of={r.status} brief />
          <Link data-first={(!view.forkedFrom && i === 0) || undefined} href={`/runs/${r.id}/compare/${view.id}`}>
            <Line>{r.inputPreview || r.id}</Line>
          </Link>
          <small>{ago(r.createdAt)}</small>
        </li>
      ))}
    </ul>
  )
}
