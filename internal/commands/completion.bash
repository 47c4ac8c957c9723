# Completion of codemode in bash. What is typed is passed on as it is, and never evaluated.
_codemode_complete() {
  local cur=${COMP_WORDS[COMP_CWORD]} line
  local words=("${COMP_WORDS[@]:1:COMP_CWORD-1}")
  [[ $cur == -* ]] && words+=("$cur")
  COMPREPLY=()
  while IFS= read -r line; do
    line=${line%%:*} # its description
    [[ -n $line && $line == "$cur"* ]] && COMPREPLY+=("$(printf %q "$line")")
  done < <(command codemode "${words[@]}" --generate-shell-completion 2>/dev/null)
}
complete -o bashdefault -o default -F _codemode_complete codemode
