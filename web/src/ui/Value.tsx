import {useState} from 'react'
import {ask, client} from '../api/client.ts'
import {count} from '../lib/format.ts'
import {asText, kindOf, referenceOf} from '../lib/json.ts'
import {readText} from '../lib/read_text.ts'
import {Copy} from './Copy.tsx'
import {Button} from './parts.tsx'
import {Text} from './Text.tsx'
import styles from './Value.module.css'

// Value shows a value: strings are unchanged, everything else is JSON. A button loads a long value
// that the server left out.
export function Value({of, run, label}: {of: unknown; run?: string; label: string}) {
  const ref = referenceOf(of)
  const [whole, setWhole] = useState<string | null>(null)
  const [came, setCame] = useState<number | null>(null) // the number of bytes received while it is loaded
  const [error, setError] = useState('')
  if (of === null || of === undefined || of === '') return <p className={styles.none}>Empty</p>
  const isText = typeof of === 'string' || (ref !== null && kindOf(ref) === 'text')
  const text = ref ? (whole ?? ref.head) : asText(of)
  const load = async () => {
    if (!ref || !run) return
    setError('')
    setCame(0)
    try {
      const data = await ask(
        client.GET('/api/v1/runs/{id}/values/{digest}', {
          params: {path: {id: run, digest: ref.sha256}, query: {type: kindOf(ref)}},
          parseAs: 'stream',
        }),
      )
      setWhole(data ? await readText(data, setCame) : '')
    } catch (err) {
      setError(err instanceof Error ? err.message : String(err))
    }
    setCame(null)
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
            <Button onClick={load} disabled={!run || came !== null}>
              {came === null
                ? `Load all ${count(ref.bytes)} bytes`
                : `Loading: ${count(came)} of ${count(ref.bytes)} bytes`}
            </Button>
            {error && <Text>{error}</Text>}
          </p>
        )}
      </div>
    </div>
  )
}
