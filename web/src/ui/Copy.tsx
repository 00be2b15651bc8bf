import {Check, Copy as CopyIcon} from 'lucide-react'
import {useEffect, useState} from 'react'
import {IconButton} from './parts.tsx'

// Copy copies a text to the clipboard and shows that it did.
export function Copy({text, label}: {text: string; label: string}) {
  const [done, setDone] = useState(false)
  useEffect(() => {
    if (!done) return
    const timer = setTimeout(() => setDone(false), 1500)
    return () => clearTimeout(timer)
  }, [done])
  return (
    <IconButton label={done ? 'Copied' : label} onClick={() => void copy(text).then(setDone)}>
      {done ? <Check size={14} /> : <CopyIcon size={14} />}
    </IconButton>
  )
}

// copy reports whether the text was copied. Without HTTPS, browsers have no clipboard API, so a
// selection is copied.
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    const area = document.createElement('textarea')
    area.value = text
    area.setAttribute('readonly', '')
    document.body.append(area)
    area.select()
    const done = document.execCommand('copy')
    area.remove()
    return done
  }
}
