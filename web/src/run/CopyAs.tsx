import {useState} from 'react'
import {base} from '../api/base.ts'
import {Copy} from '../ui/Copy.tsx'
import {Dialog} from '../ui/Dialog.tsx'
import {Button} from '../ui/parts.tsx'
import styles from './CopyAs.module.css'

// CopyAs offers the data of the page as shell commands.
export function CopyAs({run}: {run: string}) {
  const [open, setOpen] = useState(false)
  const server = `${window.location.origin}${base}`
  const auth = '-H "Authorization: Bearer $HOCKET_TOKEN"'
  const lines: [string, string][] = [
    ['hocket, the run', `hocket runs show ${run}`],
    ['hocket, its log', `hocket runs show ${run} --logs`],
    ['hocket, live', `hocket watch ${run}`],
    ['curl, the run', `curl -sS ${auth} ${server}/api/v1/runs/${run}`],
    ['curl, its events', `curl -sSN ${auth} -H 'Accept: text/event-stream' '${server}/api/v1/runs/${run}/events'`],
    ['link', `${server}/runs/${run}`],
  ]
  return (
    <>
      <Button onClick={() => setOpen(true)}>Copy as…</Button>
      {open && (
        <Dialog title="Copy as" close={() => setOpen(false)}>
          <dl className={styles.lines}>
            {lines.map(([name, text]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>
                  <code>{text}</code>
                  <Copy text={text} label={`Copy: ${name}`} />
                </dd>
              </div>
            ))}
          </dl>
        </Dialog>
      )}
    </>
  )
}
