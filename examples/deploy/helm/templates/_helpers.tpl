{{- define "tollgate.name" -}}
{{- if eq .Release.Name .Chart.Name }}{{ .Chart.Name }}{{ else }}{{ printf "%s-tollgate" .Release.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "tollgate.selector" -}}
app.kubernetes.io/name: tollgate
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: gateway
{{- end }}

{{- define "tollgate.labels" -}}
app.kubernetes.io/name: tollgate
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "tollgate.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{- define "tollgate.configMap" -}}
{{- if .Values.config.existing }}{{ .Values.config.existing }}{{ else if .Values.config.files }}{{ include "tollgate.name" . }}{{ end }}
{{- end }}

{{- define "tollgate.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (ternary (include "tollgate.name" .) "default" .Values.serviceAccount.create) }}
{{- end }}

{{/* Only names that exist get into the cluster, so what does not fit together is refused here. */}}
{{- define "tollgate.check" -}}
{{- with .Values }}
{{- $many := or .autoscaling.enabled (gt (int .replicas) 1) }}
{{- if and $many (not .ledger.postgres.name) }}
{{- fail "ledger.postgres.name is empty: several gateways share a ledger in PostgreSQL, whose address a Secret holds; or set replicas to 1 and autoscaling.enabled to false" }}
{{- end }}
{{- if and .ledger.postgres.name (not .secrets.dataKey.name) }}
{{- fail "secrets.dataKey.name is empty: a ledger in PostgreSQL needs a data key, which a Secret holds" }}
{{- end }}
{{- if and $many (not .secrets.operator.name) }}
{{- fail "secrets.operator.name is empty: several gateways need one operator secret, which a Secret holds" }}
{{- end }}
{{- if and .config.files .config.existing }}
{{- fail "config.files and config.existing exclude each other: leave one empty" }}
{{- end }}
{{- if and .config.files (not (hasKey .config.files "gateway.config.ts")) }}
{{- fail "config.files has no gateway.config.ts" }}
{{- end }}
{{- if and .ingress.enabled (not .ingress.host) }}
{{- fail "ingress.host is empty: an ingress needs the name that clients use" }}
{{- end }}
{{- end }}
{{- end }}

{{- define "tollgate.environment" -}}
- { name: HOST, value: 0.0.0.0 }
- { name: PORT, value: '8787' }
- { name: TOLLGATE_ADMIN_HOST, value: 0.0.0.0 }
- { name: TOLLGATE_ADMIN_PORT, value: '8788' }
- { name: TOLLGATE_DATA, value: /data }
- { name: TOLLGATE_PROXIES, value: {{ .Values.proxies | quote }} }
# No first key: its secret would stay in the log.
- { name: TOLLGATE_FIRST_CREDIT, value: '0' }
{{- if include "tollgate.configMap" . }}
- { name: TOLLGATE_CONFIG, value: /config/gateway.config.ts }
{{- end }}
{{- $references := dict "TOLLGATE_LEDGER_URL" .Values.ledger.postgres "TOLLGATE_DATA_KEY" .Values.secrets.dataKey "TOLLGATE_OPERATOR_SECRET" .Values.secrets.operator }}
{{- range $variable, $secret := $references }}
{{- if $secret.name }}
- name: {{ $variable }}
  valueFrom:
    secretKeyRef: { name: {{ $secret.name | quote }}, key: {{ $secret.key | quote }} }
{{- end }}
{{- end }}
{{- range $name, $value := .Values.environment }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}

{{/* What the gateway and the job have alike: who they are, and what they may read and write. */}}
{{- define "tollgate.pod" -}}
serviceAccountName: {{ include "tollgate.serviceAccount" . }}
automountServiceAccountToken: false
# No variables of the other services of the namespace.
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: { type: RuntimeDefault }
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . | quote }}
  {{- end }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "tollgate.container" -}}
image: {{ include "tollgate.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
env: {{- include "tollgate.environment" . | nindent 2 }}
{{- with .Values.secrets.environment }}
envFrom:
  {{- range . }}
  - secretRef: { name: {{ . | quote }} }
  {{- end }}
{{- end }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
volumeMounts:
  - { name: data, mountPath: /data }
  - { name: temporary, mountPath: /tmp }
  {{- if include "tollgate.configMap" . }}
  # The whole folder: the kubelet never updates a file that is mounted alone.
  - { name: config, mountPath: /config, readOnly: true }
  {{- end }}
  {{- range .Values.secrets.files }}
  - { name: {{ printf "secret-%s" . | quote }}, mountPath: {{ printf "/secrets/%s" . | quote }}, readOnly: true }
  {{- end }}
{{- end }}

{{- define "tollgate.secretVolumes" -}}
{{- range .Values.secrets.files }}
- name: {{ printf "secret-%s" . | quote }}
  # For the group alone, which is the gateway's.
  secret: { secretName: {{ . | quote }}, defaultMode: 0440 }
{{- end }}
{{- end }}
