import {useMutation, useQuery} from '@tanstack/react-query'
import {useState} from 'react'
import {Link, useLocation} from 'wouter'
import {ask, client, type Schemas} from '../api/client.ts'
import {clean} from '../lib/hostile.ts'
import control from '../ui/control.module.css'
import {Button, ErrorBox, Field, Loading, Page} from '../ui/parts.tsx'
import {SchemaForm} from '../ui/SchemaForm.tsx'
import {Line, Text} from '../ui/Text.tsx'
import {noFilter, writeFilter} from './runs_query.ts'
import styles from './Workflow.module.css'

// WorkflowPage shows a stored workflow, and starts runs of it.
export function WorkflowPage({id}: {id: string}) {
  const got = useQuery({queryKey: ['workflows', 'one', id], queryFn: () => ask(client.GET('/api/v1/workflows/{id}', {params: {path: {id}}}))})
  const w = got.data
  return (
    <Page
      title={<Line>{w?.name || id}</Line>}
      actions={
        <>
          <Link href={`/runs${writeFilter({...noFilter, workflow: id})}`}>Its runs</Link>
          <Link href={`/workflows/${encodeURIComponent(id)}/versions`}>Versions</Link>
          <Link href={`/workflows/${encodeURIComponent(id)}/edit`}>Edit</Link>
        </>
      }
    >
      {got.error ? <ErrorBox error={got.error} again={() => void got.refetch()} /> : !w ? <Loading what="the workflow" /> : <Inside w={w} />}
    </Page>
  )
}

function Inside({w}: {w: Schemas['Definition']}) {
  const problems = w.diagnostics ?? []
  return (
    <div className={styles.grid}>
      <section>
        <h2>Run</h2>
        {w.published === null ? <p className={styles.quiet}>It is not published: publish it first.</p> : <RunForm w={w} />}
      </section>
      <section>
        <h2>Document</h2>
        <p className={styles.quiet}>
          {w.format} · {w.published !== null ? `published v${w.published}` : 'not published'}
          {w.draft !== null ? ` · draft v${w.draft}` : ''}
          {w.version !== null ? ` · shown: v${w.version}` : ''}
        </p>
        {problems.length > 0 && (
          <ul className={styles.problems}>
            {problems.map((d, i) => (
              <li key={i} data-severity={d.severity}>
                <strong>{d.code}</strong> <Text>{d.message}</Text>
              </li>
            ))}
          </ul>
        )}
        <pre className={styles.document} tabIndex={0}>
          <Text mono>{w.document || 'It is in tables.'}</Text>
        </pre>
      </section>
    </div>
  )
}

function RunForm({w}: {w: Schemas['Definition']}) {
  const [, go] = useLocation()
  const [input, setInput] = useState('')
  const [branch, setBranch] = useState('')
  const start = useMutation({
    mutationFn: (v: unknown) => ask(client.POST('/api/v1/runs', {body: {workflow: w.id, input: v, ...(branch ? {branch} : {})}})),
    onSuccess: run => go(`/runs/${run.id}`),
  })
  const branches = w.facts?.branches ?? []
  const schema = w.facts?.inputs as {properties?: object} | null | undefined
  return (
    <div className={styles.form}>
      {branches.length > 0 && (
        <Field label="Branch">
          <select className={control.select} value={branch} onChange={e => setBranch(e.target.value)}>
            <option value="">the whole workflow</option>
            {branches.map(b => (
              <option key={b.id} value={b.id}>
                {clean(b.name || b.id)}
              </option>
            ))}
          </select>
        </Field>
      )}
      {schema?.properties ? (
        <SchemaForm schema={schema} busy={start.isPending} submit="Run" send={v => start.mutate(v)} />
      ) : (
        <>
          <Field label="Input">
            <textarea className={control.area} value={input} onChange={e => setInput(e.target.value)} />
          </Field>
          <div>
            <Button kind="primary" disabled={start.isPending} onClick={() => start.mutate(input)}>
              Run
            </Button>
          </div>
        </>
      )}
      {start.error && <ErrorBox error={start.error} />}
    </div>
  )
}
