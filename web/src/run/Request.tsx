import {useQuery} from '@tanstack/react-query'
import {useState} from 'react'
import {ask, client, type Schemas} from '../api/client.ts'
import {count} from '../lib/format.ts'
import {Copy} from '../ui/Copy.tsx'
import {Dialog} from '../ui/Dialog.tsx'
import {Button, ErrorBox, Loading} from '../ui/parts.tsx'
import {Line} from '../ui/Text.tsx'
import {Value} from '../ui/Value.tsx'
import styles from './Request.module.css'

type Props = {run: string; call: string; attempt: number}

// Request shows the request to a model, as the server reconstructs it from the journal: messages,
// tools, schema and parameters.
export function Request(props: Props) {
  const [open, setOpen] = useState(false)
  return (
    <p className={styles.open}>
      <Button onClick={() => setOpen(true)}>Request as sent…</Button>
      {open && (
        <Dialog title="Request as sent" close={() => setOpen(false)}>
          <Loaded {...props} />
        </Dialog>
      )}
    </p>
  )
}

function Loaded({run, call, attempt}: Props) {
  const [whole, setWhole] = useState(false)
  const got = useQuery({
    queryKey: ['call', run, call, attempt, whole],
    queryFn: () =>
      ask(
        client.GET('/api/v1/runs/{id}/calls/{call}', {
          params: {path: {id: run, call}, query: {attempt, ...(whole ? {short: 0} : {})}},
        }),
      ),
    placeholderData: before => before,
  })
  if (got.error) return <ErrorBox error={got.error} again={() => void got.refetch()} />
  if (!got.data) return <Loading what="the request" />
  return <Shown request={got.data} all={() => setWhole(true)} isWhole={whole} />
}

function Shown({request: r, all, isWhole}: {request: Schemas['CallRequest']; all: () => void; isWhole: boolean}) {
  const cut = r.messages.filter(m => m.bytes > new TextEncoder().encode(m.text).length)
  const parameters = {...r.parameters, ...(r.provider ? {provider: r.provider} : {})}
  return (
    <div className={styles.request}>
      <p className={styles.facts}>
        <Line>{r.model}</Line> · <Line>{r.agent || r.node}</Line> · attempt {r.attempt}
        {r.compaction && ' · asks for a summary'}
        <Copy text={JSON.stringify(r, null, 2)} label="Copy the request as JSON" />
      </p>
      {!r.ended && (
        <p className={styles.note}>
          The call is in progress: tools of toolsets are known once the first call of the agent has ended.
        </p>
      )}
      {cut.length > 0 && !isWhole && (
        <p className={styles.note}>
          {count(cut.length)} long {cut.length === 1 ? 'text is' : 'texts are'} cut, of{' '}
          {count(cut.reduce((n, m) => n + m.bytes, 0))} bytes. <Button onClick={all}>Load all</Button>
        </p>
      )}
      <h3>Messages</h3>
      <ol className={styles.list}>
        {r.messages.map((m, i) => (
          <li key={i}>
            <span className={styles.role}>
              <Line>{[m.role, m.name, m.toolName, m.isError ? 'error' : ''].filter(Boolean).join(' · ')}</Line>
            </span>
            {(m.text !== '' || !m.toolCalls) && <Value of={m.text} label={m.role} />}
            {(m.toolCalls ?? []).map(t => (
              <Value key={t.id} of={{[t.name]: t.arguments}} label={`asks for ${t.name}`} />
            ))}
          </li>
        ))}
      </ol>
      <h3>Tools</h3>
      {r.tools.length === 0 && <p className={styles.note}>None</p>}
      <ul className={styles.list}>
        {r.tools.map(t => (
          <li key={t.name}>
            <details>
              <summary>
                <code>
                  <Line>{t.name}</Line>
                </code>
              </summary>
              {t.description && <Value of={t.description} label={`description of ${t.name}`} />}
              {t.parameters !== undefined && <Value of={t.parameters} label={`parameters of ${t.name}`} />}
            </details>
          </li>
        ))}
      </ul>
      {r.schema && (
        <>
          <h3>Schema of the reply</h3>
          <Value of={r.schema} label="schema" />
        </>
      )}
      {Object.keys(parameters).length > 0 && (
        <>
          <h3>Parameters</h3>
          <Value of={parameters} label="parameters" />
        </>
      )}
    </div>
  )
}
