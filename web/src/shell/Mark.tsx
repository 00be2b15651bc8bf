// Mark is the logo: two voices of one line.
export function Mark({size = 20}: {size?: number}) {
  return (
    <svg width={size} height={size} viewBox="0 0 32 32" aria-hidden="true">
      <rect x="3" y="8" width="17" height="6" rx="3" fill="var(--accent)" />
      <rect x="12" y="18" width="17" height="6" rx="3" fill="currentColor" />
    </svg>
  )
}
