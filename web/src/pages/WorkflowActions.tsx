import {useMutation, useQueryClient} from '@tanstack/react-query'
import {useState} from 'react'
import {useLocation} from 'wouter'
import {ask, client} from '../api/client.ts'
import type {Stored} from '../edit/stored.ts'
import {download, fileName} from '../lib/files.ts'
import {type Format, formats} from '../lib/formats.ts'
import control from '../ui/control.module.css'
import {Dialog} from '../ui/Dialog.tsx'
import {Button, ErrorBox, Field} from '../ui/parts.tsx'
import {Line, Text} from '../ui/Text.tsx'
import styles from './Workflow.module.css'
import {deleteStored, type Ending, forgetStored} from './workflow_query.ts'

// WorkflowActions download a workflow, convert it into a draft of another format, and delete it.
export function WorkflowActions({stored, mayEdit, ending}: {stored: Stored; mayEdit: boolean; ending: Ending}) {
  const [open, setOpen] = useState<'convert' | 'delete' | null>(null)
  const {id, document} = stored.definition
  return (
    <>
      {document && <Button onClick={() => download(fileName(id, document), document)}>Download</Button>}
      {mayEdit && document && <Button onClick={() => setOpen('convert')}>Convert</Button>}
      {mayEdit && (
        <Button kind="danger" onClick={() => setOpen('delete')}>
          Delete
        </Button>
      )}
      {open === 'convert' && <Convert stored={stored} close={() => setOpen(null)} />}
      {open === 'delete' && <Delete stored={stored} ending={ending} close={() => setOpen(null)} />}
    </>
  )
}

function Convert({stored, close}: {stored: Stored; close: () => void}) {
  const {id, format, document} = stored.definition
  const others = formats.filter(f => f !== format)
  const [to, setTo] = useState<Format>(others[0]!)
  const [name, setName] = useState<string | null>(null)
  const [lossy, setLossy] = useState(false)
  const [, go] = useLocation()
  const target = name ?? `${id}-${to}`
  const convert = useMutation({
    mutationFn: () => ask(client.POST('/api/v1/documents/convert', {body: {document, to, ...(lossy ? {lossy} : {})}})),
  })
  const store = useMutation({
    mutationFn: (text: string) =>
      ask(client.POST('/api/v1/workflows', {body: {id: target, document: text, draft: true, format: to}})),
    onSuccess: w => go(`/workflows/${encodeURIComponent(w.id)}/edit`),
  })
  const got = convert.data
  return (
    <Dialog title="Convert into another format" close={close}>
      <div className={styles.form}>
        <Field label="Format">
          <select
            className={control.select}
            value={to}
            onChange={e => {
              setTo(others.find(f => f === e.target.value) ?? to)
              convert.reset()
            }}
          >
            {others.map(f => (
              <option key={f}>{f}</option>
            ))}
          </select>
        </Field>
        <label className={control.check}>
          <input type="checkbox" checked={lossy} onChange={e => setLossy(e.target.checked)} /> Allow changes in
          behaviour
        </label>
        <div>
          <Button disabled={convert.isPending} onClick={() => convert.mutate()}>
            Show what changes
          </Button>
        </div>
        {convert.error && <ErrorBox error={convert.error} />}
        {got && (
          <>
            <p role="status">
              {got.refused
                ? `The format ${got.format} cannot express what a run of this document depends on.`
                : (got.changes ?? []).length === 0
                  ? 'Nothing is lost.'
                  : 'This changes:'}
            </p>
            <ul className={styles.problems} aria-label="What changes">
              {(got.changes ?? []).map((c, i) => (
                <li key={i} data-severity={c.kind === 'meaning' ? 'error' : 'warning'}>
                  <strong>
                    <Line>{`${c.kind} ${c.at}`}</Line>
                  </strong>
                  <Text>{c.why ? `${c.what}: ${c.why}` : c.what}</Text>
                </li>
              ))}
            </ul>
            {got.document !== null && (
              <>
                <Field label="Id of the new workflow" hint="This one stays as it is">
                  <input
                    className={`${control.input} ${control.code}`}
                    value={target}
                    maxLength={200}
                    onChange={e => setName(e.target.value)}
                  />
                </Field>
                {store.error && <ErrorBox error={store.error} />}
                <div>
                  <Button
                    kind="primary"
                    disabled={store.isPending || !target}
                    onClick={() => store.mutate(got.document!)}
                  >
                    Store as a draft
                  </Button>
                </div>
              </>
            )}
          </>
        )}
      </div>
    </Dialog>
  )
}

function Delete({stored, ending, close}: {stored: Stored; ending: Ending; close: () => void}) {
  const {id} = stored.definition
  const queries = useQueryClient()
  const [, go] = useLocation()
  const remove = useMutation({
    mutationFn: () =>
      deleteStored(queries, id, ending, () =>
        ask(client.DELETE('/api/v1/workflows/{id}', {params: {path: {id}, header: {'If-Match': stored.etag}}})),
      ),
    onSuccess: () => {
      go('/workflows')
      forgetStored(queries, id)
    },
  })
  return (
    <Dialog title="Delete the workflow?" close={close}>
      <p>
        <Text>{`All versions of ${id} are deleted. Its runs stay. This cannot be undone.`}</Text>
      </p>
      {remove.error && <ErrorBox error={remove.error} />}
      <Button kind="danger" disabled={remove.isPending} onClick={() => remove.mutate()}>
        Delete the workflow
      </Button>
    </Dialog>
  )
}
