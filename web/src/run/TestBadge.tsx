import styles from './TestBadge.module.css'

// TestBadge marks a test run of the editor.
export const TestBadge = () => (
  <span className={styles.badge} title="A test run of the editor">
    test
  </span>
)
