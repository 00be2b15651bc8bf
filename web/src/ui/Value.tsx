import {useState} from 'react'
import {ApiError, ask, client} from '../api/client.ts'
import {count} from '../lib/format.ts'
import {asText, kindOf, referenceOf} from '../lib/json.ts'
import {Copy} from './Copy.tsx'
import {Button} from './parts.tsx'
import {Text} from './Text.tsx'
import styles from './Value.module.css'

// Value shows a value: a text as it is, all else as JSON. A long one that the server left out is asked for by its button.
export function Value({of, run, label}: {of: unknown; run?: string; label: string}) {
  const ref = referenceOf(of)
  const [whole, setWhole] = useState<string | null>(null)
  const [error, setError] = useState('')
  if (of === null || of === undefined || of === '') return <p className={styles.none}>Empty</p>
  const isText = typeof of === 'string' || (ref !== null && kindOf(ref) === 'text')
  const text = ref ? (whole ?? ref.head) : asText(of)
  const load = async () => {
    if (!ref || !run) return
    try {
      const data = await ask(
        client.GET('/api/v1/runs/{id}/values/{digest}', {params: {path: {id: run, digest: ref.sha256}, query: {type: kindOf(ref)}}, parseAs: 'text'}),
      )
      setWhole(asText(data))
    } catch (err) {
      setError(err instanceof ApiError ? err.message : String(err))
    }
  }
  return (
    <div className={styles.box}>
      <div className={styles.copy}>
        <Copy text={text} label={`Copy ${label}`} />
      </div>
      <div className={styles.text} tabIndex={0} role="region" aria-label={label}>
        <Text mono={!isText}>{text}</Text>
        {ref && whole === null && (
          <p className={styles.more}>
            <Button onClick={load} disabled={!run}>
              Load all {count(ref.bytes)} bytes
            </Button>
            {error && <Text>{error}</Text>}
          </p>
        )}
      </div>
    </div>
  )
}
