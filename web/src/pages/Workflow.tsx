import {useMutation, useQuery} from '@tanstack/react-query'
import {useState} from 'react'
import {Link, useLocation} from 'wouter'
import {ask, client, type Schemas} from '../api/client.ts'
import {may} from '../api/session.ts'
import {readStored} from '../edit/stored.ts'
import {ago} from '../lib/format.ts'
import {clean} from '../lib/hostile.ts'
import {asText} from '../lib/json.ts'
import {useSession} from '../shell/session.ts'
import control from '../ui/control.module.css'
import {Button, ErrorBox, Field, Loading, Page} from '../ui/parts.tsx'
import {SchemaForm} from '../ui/SchemaForm.tsx'
import {Line, Text} from '../ui/Text.tsx'
import {Diagnostics} from './Diagnostics.tsx'
import {noFilter, writeFilter} from './runs_query.ts'
import styles from './Workflow.module.css'
import {WorkflowActions} from './WorkflowActions.tsx'
import {type Ending, storedQuery} from './workflow_query.ts'

// WorkflowPage shows a stored workflow, and starts runs of it.
export function WorkflowPage({id}: {id: string}) {
  const mayEdit = may(useSession(), 'edit')
  const [ending] = useState<Ending>(() => ({now: false}))
  const got = useQuery(storedQuery(id, ending, signal => readStored(id, mayEdit, signal)))
  const w = got.data?.definition
  return (
    <Page
      title={<Line>{w?.name || id}</Line>}
      actions={
        <>
          <Link href={`/runs${writeFilter({...noFilter, workflow: id})}`}>Its runs</Link>
          <Link href={`/workflows/${encodeURIComponent(id)}/versions`}>Versions</Link>
          <Link href={`/workflows/${encodeURIComponent(id)}/edit`}>Edit</Link>
          {got.data && <WorkflowActions stored={got.data} mayEdit={mayEdit} ending={ending} />}
        </>
      }
    >
      {got.error ? (
        <ErrorBox error={got.error} again={() => void got.refetch()} />
      ) : !w ? (
        <Loading what="the workflow" />
      ) : (
        <Inside w={w} mayEdit={mayEdit} />
      )}
    </Page>
  )
}

function Inside({w, mayEdit}: {w: Schemas['Definition']; mayEdit: boolean}) {
  return (
    <div className={styles.grid}>
      <section>
        <h2>Run</h2>
        {w.published === null && !mayEdit ? (
          <p className={styles.quiet}>It is not published: publish it first.</p>
        ) : (
          <RunForm w={w} mayEdit={mayEdit} />
        )}
      </section>
      <section>
        <h2>Document</h2>
        <p className={styles.quiet}>
          {w.format} · {w.published !== null ? `published v${w.published}` : 'not published'}
          {w.draft !== null ? ` · draft v${w.draft}` : ''}
          {w.version !== null ? ` · shown: v${w.version}` : ''}
        </p>
        <Diagnostics list={w.diagnostics ?? []} />
        <pre className={styles.document} tabIndex={0}>
          <Text mono>{w.document || 'It is in tables.'}</Text>
        </pre>
      </section>
    </div>
  )
}

function RunForm({w, mayEdit}: {w: Schemas['Definition']; mayEdit: boolean}) {
  const [draft, setDraft] = useState(w.published === null)
  const [, go] = useLocation()
  const [input, setInput] = useState('')
  const [branch, setBranch] = useState('')
  const [given, setGiven] = useState<unknown>(undefined)
  const [taken, setTaken] = useState(0)
  const start = useMutation({
    mutationFn: (v: unknown) =>
      ask(
        client.POST('/api/v1/runs', {
          body: {workflow: w.id, input: v, ...(branch ? {branch} : {}), ...(draft ? {draft} : {})},
        }),
      ),
    onSuccess: run => go(`/runs/${run.id}`),
  })
  const before = useQuery({
    queryKey: ['runs', 'inputs', w.id],
    queryFn: async () =>
      (await ask(client.GET('/api/v1/runs', {params: {query: {workflow: w.id, limit: 8}}}))).items ?? [],
  })
  const take = useMutation({
    mutationFn: (run: string) =>
      ask(client.GET('/api/v1/runs/{id}', {params: {path: {id: run}, query: {steps: 'none'}}})),
    onSuccess: r => {
      setBranch(branches.some(b => b.id === r.workflow.branch) ? (r.workflow.branch ?? '') : '')
      setInput(asText(r.input))
      setGiven(r.input)
      setTaken(n => n + 1)
    },
  })
  const branches = w.facts?.branches ?? []
  const schema = w.facts?.inputs as {properties?: object} | null | undefined
  return (
    <div className={styles.form}>
      {mayEdit && w.draft !== null && w.published !== null && (
        <Field label="Version">
          <select
            className={control.select}
            value={draft ? 'draft' : ''}
            onChange={e => setDraft(e.target.value === 'draft')}
          >
            <option value="">published v{w.published}</option>
            <option value="draft">draft v{w.draft}</option>
          </select>
        </Field>
      )}
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
      {(before.data ?? []).length > 0 && (
        <Field label="Input of a run before">
          <select className={control.select} value="" onChange={e => e.target.value && take.mutate(e.target.value)}>
            <option value="">choose one to begin with</option>
            {before.data?.map(r => (
              <option key={r.id} value={r.id}>
                {clean(`${ago(r.createdAt)} · ${r.status} · ${r.inputPreview.slice(0, 60)}`)}
              </option>
            ))}
          </select>
        </Field>
      )}
      {take.error && <ErrorBox error={take.error} />}
      {schema?.properties ? (
        <SchemaForm
          key={taken}
          given={given}
          schema={schema}
          busy={start.isPending}
          submit="Run"
          send={v => start.mutate(v)}
        />
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
